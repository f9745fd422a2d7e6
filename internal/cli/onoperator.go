package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"example.com/petstore/internal/config"
	"example.com/petstore/internal/node"
	"example.com/petstore/internal/operator"
)

// A work is what a command has an operator do.
type work func(ctx context.Context, op operator.Operator) error

// onOperator returns the command of s, which an operator carries out: on the
// database, or on a server.
func (a *app) onOperator(s spec, run func(ctx context.Context, op operator.Operator, args []string) error) *cobra.Command {
	return a.onOperatorFor(s, node.StoreUse{Few: true}, func(args []string) (work, error) {
		return func(ctx context.Context, op operator.Operator) error { return run(ctx, op, args) }, nil
	})
}

// onOperatorFor is onOperator for a command that checks its flags and arguments first,
// and opens the database for u.
func (a *app) onOperatorFor(s spec, u node.StoreUse, prepare func(args []string) (work, error)) *cobra.Command {
	var server, token string
	s.settings = []string{"db"}
	s.run = func(ctx context.Context, args []string) error {
		began := a.now() // the instant of all that is done: an end that is to come then is not past
		do, err := prepare(args)
		if err != nil {
			return err
		}
		elsewhere, err := a.elsewhere()
		if err != nil {
			return err
		}
		if elsewhere {
			return a.onServer(ctx, server, token, do)
		}
		u.Now = a.now
		return a.using(ctx, u, func(db node.Store) error {
			return do(ctx, &operator.Local{Store: db, Counts: operator.Saved(db, a.now), Now: func() time.Time { return began }, By: actor})
		})
	}
	cmd := a.command(s)
	cmd.Flags().StringVar(&server, "server", "http://127.0.0.1:9090", "with a token: ask the server whose operations listener is at `URL`, and not the database")
	cmd.Flags().StringVar(&token, "token", "", "send the operator's `TOKEN`")
	config.FromEnvironment(cmd.Flags(), "server", "token")
	return cmd
}

// elsewhere reports whether a command goes to a server: if --server is given, or a
// token from anywhere. A server from the environment alone may be that of the API.
func (a *app) elsewhere() (bool, error) {
	asked := a.origins.Of("server") == "--server" || a.origins.Of("token") == "--token"
	if a.origins.Of("db") == "--db" {
		if asked {
			return false, usagef("give --db, or --server with a token, and not both")
		}
		return false, nil
	}
	return asked || a.given("token"), nil
}

// onServer has a server do it.
func (a *app) onServer(ctx context.Context, server, token string, do work) error {
	if token == "" {
		return usagef("an operator's token is needed: set PETSTORE_TOKEN, or --token; petstore operator token create makes one")
	}
	c, err := operator.NewClient(server, token)
	if err != nil {
		return a.fault("server", "%v", err)
	}
	return do(ctx, c)
}
