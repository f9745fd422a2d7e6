package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"example.com/petstore/internal/node"
)

func serveCommand(a *app) *cobra.Command {
	var demo bool
	cmd := newCommand(a, spec{
		use:   "serve [--demo]",
		short: "Start the server",
		long: `Start the server. It creates the database if there is none, and migrates an older
one.

On SIGTERM or SIGINT, /readyz fails first, then requests in flight finish, and the
process ends with 0. A second signal ends it immediately, with 130. Under systemd it
uses inherited sockets (the one named "ops" for operations) and reports when it is
ready.

OTEL_EXPORTER_OTLP_ENDPOINT=http://HOST:4318 turns on traces. The other variables of
OpenTelemetry work too.

With --demo, an empty database gets the workspace "demo" with some pets. Each start
prints a key that is valid for a week, and revokes that of the start before.

With -o json, one line of JSON says where the server is once it is ready, and what the
key of the demo is.`,
		output:  words(),
		example: "  petstore serve --demo\n  petstore serve --addr :8080 --base-url https://pets.example.com --db /var/lib/petstore/petstore.db",
		run: func(ctx context.Context, _ []string) error {
			return node.Run(ctx, node.Options{
				Config: a.config, Origins: a.origins, Getenv: a.getenv, Version: version().Version,
				Log: a.err, Demo: demo, Ready: func(s node.Serving) error { return announce(a, s) },
			})
		},
	})
	a.config.Register(cmd.Flags())
	cmd.Flags().BoolVar(&demo, "demo", false, "create a demo workspace, and print a key for it")
	return cmd
}

// A started is what is said in JSON of a server that is ready.
type started struct {
	URL        string `json:"url"`
	Key        string `json:"key,omitempty"`
	ManageKey  string `json:"manageKey,omitempty"`
	Console    string `json:"console"` // with a key, where it signs in, once within ten minutes
	Operations string `json:"operations,omitempty"`
	PID        int    `json:"pid"`
}

func startedOf(s node.Serving) started {
	said := started{URL: s.URL, Console: s.URL + "/console", Operations: s.OpsURL, PID: os.Getpid()}
	if d := s.Demo; d != nil {
		said.Key, said.ManageKey, said.Console = d.Key, cmp.Or(d.ManageKey, d.Key), d.SignIn
	}
	return said
}

// announce prints where the service is, and with a demo how to try it.
func announce(a *app, s node.Serving) error {
	if a.chosen() == "json" {
		return json.NewEncoder(a.out).Encode(startedOf(s))
	}
	var text strings.Builder
	fmt.Fprintf(&text, "Petstore %s serves %s\n\n", version().Version, s.URL)
	fmt.Fprintf(&text, "  docs        %s/docs\n", s.URL)
	fmt.Fprintf(&text, "  console     %s/console\n", s.URL)
	if s.OpsURL != "" {
		fmt.Fprintf(&text, "  operations  %s\n", s.OpsURL)
	}
	fmt.Fprintf(&text, "  database    %s\n", a.database())
	if d := s.Demo; d != nil {
		fmt.Fprintf(&text, "  workspace   %s, with the key %s for a week\n\n", d.Workspace, d.Key)
		fmt.Fprintf(&text, "Sign in to the console, once within ten minutes:\n\n  %s\n\n", d.SignIn)
		fmt.Fprintf(&text, "Try it:\n\n  curl -s -H 'Authorization: Bearer %s' '%s/pets?limit=3'\n\n", d.Key, s.URL)
	}
	_, err := a.out.Write([]byte(text.String()))
	return err
}
