package cli

import (
	"context"
	"fmt"
	"net/netip"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"example.com/petstore/internal/config"
	"example.com/petstore/internal/node"
	"example.com/petstore/internal/operator"
	"example.com/petstore/internal/store"
)

// onOperator returns the command of s. It runs with an operator: on the database, or on a server.
func onOperator(a *app, s spec, run func(ctx context.Context, op operator.Operator, args []string) error) *cobra.Command {
	var server, token string
	s.settings = []string{"db"}
	s.run = func(ctx context.Context, args []string) error {
		toServer, err := wantsServer(a)
		if err != nil {
			return err
		}
		if toServer {
			return onServer(a, server, token, func(op operator.Operator) error { return run(ctx, op, args) })
		}
		return a.withStoreFor(ctx, store.OpenOptions{NoMigrate: !s.migrates}, func(db node.Store) error {
			return run(ctx, &operator.Local{Store: db, Counts: operator.Saved(db, a.now), Now: func() time.Time { return a.began }, By: actor}, args)
		})
	}
	cmd := newCommand(a, s)
	cmd.Flags().StringVar(&server, "server", "http://127.0.0.1:9090", "with a token: use the server whose operations listener is at `URL` (or PETSTORE_OPS_SERVER) instead of the database")
	cmd.Flags().StringVar(&token, "token", "", "the operator's `TOKEN` for --server")
	config.FromVariable(cmd.Flags(), "server", "PETSTORE_OPS_SERVER") // PETSTORE_SERVER is the API's, which must not get the token
	config.FromEnvironment(cmd.Flags(), "token")
	return cmd
}

// onWorkspace is onOperator for a command whose first argument is the name of a workspace.
func onWorkspace(a *app, s spec, run func(ctx context.Context, op operator.Operator, id int64) error) *cobra.Command {
	s.output = tables()
	return onOperator(a, s, func(ctx context.Context, op operator.Operator, args []string) error {
		w, err := op.Find(ctx, args[0])
		if err != nil {
			return err
		}
		return run(ctx, op, w.ID)
	})
}

// wantsServer reports whether a command calls a server: it does if a server or a token is given, unless --db is on the
// command line.
func wantsServer(a *app) (bool, error) {
	if a.origins.Of("db") != "--db" {
		return a.given("server") || a.given("token"), nil
	}
	if a.origins.Of("server") == "--server" || a.origins.Of("token") == "--token" {
		return false, usagef("give --db, or --server with a token, and not both")
	}
	return false, nil
}

// onServer runs do with a server. If only a variable with a token made the command call it, errors say so.
func onServer(a *app, server, token string, do func(operator.Operator) error) error {
	if token == "" {
		return usagef("an operator's token is needed: set PETSTORE_TOKEN or --token; create one with petstore operator token create")
	}
	if _, err := operator.NewClient(server, "any"); err != nil {
		return a.fault("server", "%s", withoutPrefix(err))
	}
	c, err := operator.NewClient(server, token)
	if err != nil {
		return a.fault("token", "the token has characters that no token has")
	}
	if u, err := url.Parse(server); err == nil && u.Scheme == "http" && u.Hostname() != "localhost" {
		if ip, _ := netip.ParseAddr(u.Hostname()); !ip.IsLoopback() {
			fmt.Fprintf(a.err, "petstore: the token is sent to %s unencrypted; use https, or a tunnel to the server's loopback\n", u.Hostname())
		}
	}
	err = do(c)
	if from := a.origins.Of("token"); err != nil && from != "--token" && !a.given("server") {
		err = fmt.Errorf("asked %s instead of the database, because %s is set: %w", server, from, err)
	}
	return err
}
