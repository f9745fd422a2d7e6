package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"example.com/petstore/client"
	"example.com/petstore/internal/access"
	"example.com/petstore/internal/config"
)

// overAPI returns the command of s, which run carries out with the API of a server. It has the flags that register adds,
// and those that name the server and the key.
func overAPI(a *app, s spec, register func(*pflag.FlagSet), run func(ctx context.Context, server *client.Client) error) *cobra.Command {
	var server, key string
	s.run = func(ctx context.Context, _ []string) error {
		if key == "" {
			return usagef("an API key is needed: set PETSTORE_KEY, or --key")
		}
		c, err := a.client(server, "key", key, client.OnRetry(a.sayRetry))
		if err != nil {
			return err
		}
		return run(ctx, c)
	}
	cmd := newCommand(a, s)
	register(cmd.Flags())
	cmd.Flags().StringVar(&server, "server", "http://127.0.0.1:8080", "`URL` of the server")
	cmd.Flags().StringVar(&key, "key", "", "the API `KEY`")
	config.FromEnvironment(cmd.Flags(), "server", "key")
	return cmd
}

// client returns the client for a server, which sends the secret of a flag. It does not call the server yet.
func (a *app) client(server, flag, secret string, opts ...client.Option) (*client.Client, error) {
	if _, err := client.New(server, "any"); err != nil {
		return nil, a.fault("server", "%s", withoutPrefix(err))
	}
	c, err := client.New(server, secret, append(opts, client.WithUserAgent("petstore-cli"))...)
	if err != nil {
		return nil, a.fault(flag, "the %s has characters that no %[1]s has", flag)
	}
	return c, nil
}

func (a *app) sayRetry(t client.Attempt) {
	fmt.Fprintf(a.err, "petstore: trying again in %v: %s\n", t.Wait.Round(100*time.Millisecond), access.Printable(withoutPrefix(t.Err)))
}

// withoutPrefix returns the text of err without the program's name, which is said once for all errors.
func withoutPrefix(err error) string { return strings.TrimPrefix(err.Error(), "petstore: ") }
