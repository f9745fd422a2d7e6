package cli

import (
	"context"

	"github.com/spf13/cobra"

	"example.com/petstore/internal/config"
	"example.com/petstore/internal/node"
	"example.com/petstore/internal/portal/console"
)

func (a *app) operatorCommand() *cobra.Command {
	return a.group("operator", "Sign in to the operator's console, and manage tokens for the operator's API", a.operatorLogin(), a.operatorToken())
}

// signInView is a link to sign in, as it is printed.
type signInView struct {
	URL string `json:"url"`
}

func (a *app) operatorLogin() *cobra.Command {
	o := &output{forms: []string{"table", "json"}, form: "table"}
	return a.command(spec{
		use:   "login",
		short: "Print a link to sign in to the operator's console",
		long: `Print a link to sign in to the operator's console. It works once, for ten minutes.

Give the --db and --ops-addr of the server.`,
		settings: []string{"db", "ops-addr"}, output: o,
		run: func(ctx context.Context, _ []string) error {
			if a.config.OpsAddr == config.Off {
				return a.fault("ops-addr", "there is no operations listener to sign in to")
			}
			return a.withStore(ctx, func(db node.Store) error {
				path, err := console.OperatorPath(ctx, db, a.now(), "cli")
				if err != nil {
					return err
				}
				link := node.LocalURL(a.config.OpsAddr) + path
				return a.done(o, signInView{link}, "%s", link)
			})
		},
	})
}
