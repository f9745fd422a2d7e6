package cli

import (
	"fmt"
	"strings"
)

// announce prints where the service is, and with a demo key how to try it.
func (a *app) announce(s *sockets, demoKey string) error {
	url := a.config.BaseURL
	if url == "" {
		url = localURL(s.public.Addr().String())
	}
	var text strings.Builder
	fmt.Fprintf(&text, "Petstore %s serves %s\n\n", version().Version, url)
	fmt.Fprintf(&text, "  docs        %s/docs\n", url)
	if s.ops != nil {
		fmt.Fprintf(&text, "  operations  %s\n", localURL(s.ops.Addr().String()))
	}
	fmt.Fprintf(&text, "  database    %s\n", a.config.DB)
	if demoKey != "" {
		fmt.Fprintf(&text, "  workspace   %s, with the key %s for a week\n\n", demoWorkspace, demoKey)
		fmt.Fprintf(&text, "Try it:\n\n  curl -s -H 'Authorization: Bearer %s' '%s/pets?limit=3'\n\n", demoKey, url)
	}
	_, err := a.out.Write([]byte(text.String()))
	return err
}
