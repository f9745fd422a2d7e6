package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/config"
	"example.com/petstore/internal/node"
	"example.com/petstore/internal/portal/admin"
)

func operatorCommand(a *app) *cobra.Command {
	return newGroup("operator", "Sign in to the operator's console, and manage tokens for the operator's API", operatorLogin(a),
		newGroup("token", "Create, list and revoke tokens for the operator's API", tokenCreate(a), tokenList(a), tokenRevoke(a)))
}

func operatorLogin(a *app) *cobra.Command {
	return newCommand(a, spec{
		use:   "login",
		short: "Print a link to sign in to the operator's console",
		long: `Print a link to sign in to the operator's console. It works once, within ten minutes.

Give it the same --db and --ops-addr as the server.`,
		settings: []string{"db", "ops-addr"}, output: words(),
		run: func(ctx context.Context, _ []string) error {
			if a.config.OpsAddr == config.Off {
				return a.fault("ops-addr", "there is no operations listener to sign in to")
			}
			return a.withStore(ctx, func(db node.Store) error {
				path, err := admin.SignInPath(ctx, db, a.now(), "cli")
				if err != nil {
					return err
				}
				link := node.LocalURL(a.config.OpsAddr) + path
				return a.printDone(map[string]string{"url": link}, "%s", link)
			})
		},
	})
}

// tokenView is a token as it is printed. Secret is the token itself, which is known
// only when it is made.
type tokenView struct {
	access.Token
	Secret string `json:"token,omitempty"`
	State  string `json:"state"`
}

// How long a token is valid: unless it is said, and at most.
const (
	usualToken = 90 * 24 * time.Hour
	maxToken   = 366 * 24 * time.Hour
)

func tokenCreate(a *app) *cobra.Command {
	expires := usualToken
	cmd := newCommand(a, spec{
		use: "create NAME [--expires 90d]", args: cobra.ExactArgs(1),
		short: "Create a token and print it, once",
		long: `Create a token for the operator's API and print it. This is the only time: the
database keeps just its hash. It works on every server that uses the database.

A token can do everything that the operator can. Give each program its own, and
revoke it when you no longer use the program.`,
		example:  "  export PETSTORE_TOKEN=$(petstore operator token create ci -o json | jq -r .token)",
		settings: []string{"db"}, output: tables(),
		run: func(ctx context.Context, args []string) error {
			name, err := access.CheckName(args[0])
			if err != nil {
				return usagef("NAME: %v", err)
			}
			if expires > maxToken {
				return a.fault("expires", "must be at most a year")
			}
			secret, prefix := access.MintToken()
			now := a.now().UTC().Truncate(time.Millisecond)
			t := access.Token{ID: access.MintTokenID(), Name: name, Prefix: prefix, Hash: access.HashOf(secret), CreatedAt: now, ExpiresAt: now.Add(expires)}
			err = a.withStore(ctx, func(db node.Store) error { return db.AddToken(ctx, t, actor) })
			if err != nil {
				return err
			}
			return a.printSecret(tokenView{t, secret, t.State(now)}, "token", "id,name,expiresAt")
		},
	})
	cmd.Flags().Var(config.Duration(&expires, 1), "expires", "let the token expire after `DURATION`, at most a year (default 90d)")
	return cmd
}

func tokenList(a *app) *cobra.Command {
	return newCommand(a, spec{
		use: "list", short: "List all tokens", settings: []string{"db"}, output: tables(),
		run: func(ctx context.Context, _ []string) error {
			return a.withStore(ctx, func(db node.Store) error {
				all, err := db.Tokens(ctx)
				if err != nil {
					return err
				}
				views := make([]tokenView, len(all))
				for i, t := range all {
					views[i] = tokenView{t, "", t.State(a.now())}
				}
				return a.print(views, tableOf(views, "id,name,prefix=TOKEN,state,createdAt,expiresAt"))
			})
		},
	})
}

func tokenRevoke(a *app) *cobra.Command {
	return newCommand(a, spec{
		use: "revoke ID", args: cobra.ExactArgs(1), short: "Revoke a token, on every node",
		settings: []string{"db"}, output: tables(),
		run: func(ctx context.Context, args []string) error {
			return a.withStore(ctx, func(db node.Store) error {
				t, err := db.RevokeToken(ctx, args[0], a.now(), actor)
				if err != nil {
					return err
				}
				return a.printDone(tokenView{t, "", t.State(a.now())}, "Revoked the token %s (%s)", t.ID, t.Name)
			})
		},
	})
}
