package cli

import (
	"fmt"
	"strings"
)

// announce prints where the service is, and with a demo how to try it.
func (a *app) announce(s *sockets, shop *demo) error {
	url := a.config.BaseURL
	if url == "" {
		url = schemed(a.config, localURL(s.public.Addr().String()))
	}
	var text strings.Builder
	fmt.Fprintf(&text, "Petstore %s serves %s\n\n", version().Version, url)
	fmt.Fprintf(&text, "  docs        %s/docs\n", url)
	fmt.Fprintf(&text, "  console     %s/console\n", url)
	if s.ops != nil {
		fmt.Fprintf(&text, "  operations  %s\n", localURL(s.ops.Addr().String()))
	}
	fmt.Fprintf(&text, "  database    %s\n", a.database())
	if shop != nil {
		fmt.Fprintf(&text, "  workspace   %s, with the key %s for a week\n\n", demoWorkspace, shop.key)
		fmt.Fprintf(&text, "Sign in to the console, once within ten minutes:\n\n  %s\n\n", shop.signIn)
		fmt.Fprintf(&text, "Try it:\n\n  curl -s -H 'Authorization: Bearer %s' '%s/pets?limit=3'\n\n", shop.key, url)
	}
	_, err := a.out.Write([]byte(text.String()))
	return err
}
