package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"example.com/petstore/client"
	"example.com/petstore/internal/config"
)

func (a *app) apiKeys() *cobra.Command {
	cmd := a.group("keys", "List, show, create, change, rotate and revoke the keys of the workspace",
		a.apiKeysList(), a.apiKeysGet(), a.apiKeysCreate(), a.apiKeysUpdate(), a.apiKeysRotate(), a.apiKeysRevoke())
	cmd.Long = "List, show, create, change, rotate and revoke the keys of the workspace. This needs a\nkey with the scope manage. A new key is printed once."
	return cmd
}

func apiKeyRows(keys []client.Key) rows {
	r := rows{{"ID", "NAME", "KEY", "SCOPES", "STATE", "EXPIRES", "BANNED UNTIL"}}
	for _, k := range keys {
		r.add(k.ID, k.Name, k.Prefix+"…", commas(k.Scopes), string(k.State), moment(k.ExpiresAt, "never"), moment(k.BannedUntil, "-"))
	}
	return r
}

func (a *app) apiKeysList() *cobra.Command {
	var page pageFlags
	return a.remote(remote{
		use: "list [--limit N] [--cursor CURSOR | --all]", short: "List the keys that are not revoked", flags: page.register,
		run: func(ctx context.Context, c *client.Client, _ []string) error {
			params := client.ListKeysParams{Limit: page.limit, Cursor: page.cursor}
			return listed(a, page, func() (client.Page[client.Key], error) { return c.ListKeys(ctx, params) },
				c.AllKeys(ctx, params), apiKeyRows)
		},
	})
}

func (a *app) apiKeysGet() *cobra.Command {
	return item(a, remote{use: "get ID", args: cobra.ExactArgs(1), short: "Show a key"}, apiKeyRows,
		func(ctx context.Context, c *client.Client, args []string) (client.Key, error) {
			return c.GetKey(ctx, args[0])
		})
}

func (a *app) apiKeysCreate() *cobra.Command {
	var n client.NewKey
	return a.remote(remote{
		use: "create NAME [--scope read,write] [--expires 30d]", args: cobra.ExactArgs(1), short: "Create a key and print it, once",
		long: `Create a key and print it, once. It has no scope that the key you use does not have.

To manage keys of the workspace, a key needs the scope manage; for webhooks, both read
and manage. A webhook belongs to the workspace: it goes on when the key that created it is
revoked or expires.`,
		flags: func(f *pflag.FlagSet) {
			f.Var(listOf(&n.Scopes, config.Word(new(client.Scope), client.ScopeRead, client.ScopeWrite, client.ScopeManage)), "scope", "give the key the scopes `SCOPE,...`: read, write, manage (default read,write)")
			f.Var(a.fromNow(&n.ExpiresAt), "expires", "let the key expire after `DURATION`, such as 30d or 12h (default like the key that you use)")
		},
		run: func(ctx context.Context, c *client.Client, args []string) error {
			n.Name = args[0]
			made, err := c.CreateKey(ctx, n)
			if err != nil {
				return err
			}
			return a.showKey(made)
		},
	})
}

func (a *app) showKey(made client.MadeKey) error {
	return a.printSecret("key", made.ID, made, rows{{"ID", made.ID}, {"NAME", made.Name}, {"SCOPES", commas(made.Scopes)}, {"EXPIRES", moment(made.ExpiresAt, "never")}, {}, {made.Key}})
}

func (a *app) apiKeysUpdate() *cobra.Command {
	var patch client.KeyPatch
	return item(a, remote{
		use: "update ID [--name N] [--expires 30d]", args: cobra.ExactArgs(1), short: "Change the name or the expiry of a key", changes: []string{"name", "expires"},
		flags: func(f *pflag.FlagSet) {
			f.Var(text(&patch.Name), "name", "the new name `N`")
			f.Var(nullable(&patch.ExpiresAt, a.fromNow(nil), "never"), "expires", "let the key expire `DURATION` from now, or never")
		},
	}, apiKeyRows, func(ctx context.Context, c *client.Client, args []string) (client.Key, error) {
		return c.UpdateKey(ctx, args[0], patch)
	})
}

func (a *app) apiKeysRotate() *cobra.Command {
	overlap := 24 * time.Hour
	return a.remote(remote{
		use: "rotate ID [--overlap 24h]", args: cobra.ExactArgs(1), short: "Replace a key, with a time during which both work",
		flags: func(f *pflag.FlagSet) {
			f.Var(duration(&overlap, 0), "overlap", "keep the old key valid for `DURATION` (default 24h)")
		},
		run: func(ctx context.Context, c *client.Client, args []string) error {
			if overlap < time.Second { // the answer could not be had again
				if who, err := c.GetAccount(ctx); err == nil && who.Key.ID == args[0] {
					return usagef("the key that you are using could end before you get the new one: give an --overlap, such as 1m")
				}
			}
			made, err := c.RotateKey(ctx, args[0], client.KeyRotation{Overlap: fmt.Sprintf("%ds", int64(overlap.Seconds()))})
			if err != nil {
				return err
			}
			return a.showKey(made)
		},
	})
}

// revocation is what is printed of a key that is refused from now on.
type revocation struct {
	ID      string `json:"id"`
	Revoked bool   `json:"revoked"`
}

func (a *app) apiKeysRevoke() *cobra.Command {
	return a.remote(remote{
		use: "revoke ID", args: cobra.ExactArgs(1), short: "Revoke a key for good",
		run: func(ctx context.Context, c *client.Client, args []string) error {
			if err := c.RevokeKey(ctx, args[0]); err != nil {
				return err
			}
			return a.done(revocation{args[0], true}, "Revoked the key %s", args[0])
		},
	})
}
