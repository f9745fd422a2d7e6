package cli

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/config"
	"example.com/petstore/internal/operator"
)

func keyCommand(a *app) *cobra.Command {
	return newGroup("key", "Create, list, rotate, revoke and ban API keys",
		keyCreate(a), keyList(a), keyRotate(a), keyRevoke(a), keyBan(a), keyUnban(a))
}

func keyCreate(a *app) *cobra.Command {
	var name string
	scopes := []string{"read", "write"}
	var expires time.Duration
	var n operator.NewKey
	cmd := onWorkspace(a, spec{
		use: "create WORKSPACE [--name N] [--scope read,write] [--expires 30d]", args: cobra.ExactArgs(1),
		short: "Create a key and print it, once",
		long:  "Create a key and print it. This is the only time: the database keeps just its hash. The key works immediately.\n\nTo manage keys of the workspace, a key needs the scope manage; for webhooks, both read and manage. A webhook belongs to the workspace: it goes on when the key that created it is revoked or expires.",
		check: func([]string) (err error) {
			n, err = newKey(a, name, strings.Join(scopes, ","), expires)
			return err
		},
	}, func(ctx context.Context, op operator.Operator, id int64) error {
		k, err := op.CreateKey(ctx, id, n)
		return printNewKey(a, k, err)
	})
	cmd.Flags().StringVar(&name, "name", "default", "`NAME` of the key")
	cmd.Flags().Var(config.List(&scopes, text(nil)), "scope", "give the key the scopes `SCOPE,...`: read, write, manage (default read,write)")
	cmd.Flags().Var(duration(&expires, 1), "expires", "let the key expire after `DURATION`, such as 30d or 12h (default never)")
	return cmd
}

// newKey returns the key to ask for.
func newKey(a *app, name, scope string, expires time.Duration) (n operator.NewKey, err error) {
	if n.Name, err = access.CheckName(name); err != nil {
		return n, a.fault("name", "%v", err)
	}
	scopes, err := access.ParseScopes(scope)
	if err != nil {
		return n, a.fault("scope", "%v", err)
	}
	if n.Scopes = scopes.List(); expires > 0 {
		end := a.began.Add(expires)
		n.ExpiresAt = &end
	}
	return n, nil
}

func printNewKey(a *app, k operator.Key, err error) error {
	if err != nil {
		return err
	}
	return a.printSecret(k, "key", "id,name,scopes,expiresAt")
}

func keyRotate(a *app) *cobra.Command {
	overlap := 24 * time.Hour
	cmd := onOperator(a, spec{
		use: "rotate ID [--overlap 24h]", args: cobra.ExactArgs(1),
		short:  "Replace a key, with a time during which both work",
		long:   "Create a key with the same workspace, name, scopes and expiry as another, and print it, once. Both work during the overlap; then the old one expires. A key that has been rotated or revoked, or has expired, cannot be rotated.",
		output: tables(),
	}, func(ctx context.Context, op operator.Operator, args []string) error {
		k, err := op.RotateKey(ctx, args[0], overlap)
		return printNewKey(a, k, err)
	})
	cmd.Flags().Var(atMost(operator.MaxOverlap, duration(&overlap, 0)), "overlap", "keep the old key valid for `DURATION` (default 24h)")
	return cmd
}

func keyList(a *app) *cobra.Command {
	return onWorkspace(a, spec{
		use: "list WORKSPACE", args: cobra.ExactArgs(1), short: "List the keys of a workspace, with their use today",
	}, func(ctx context.Context, op operator.Operator, id int64) error {
		keys, err := op.Keys(ctx, id)
		if err != nil {
			return err
		}
		return a.print(keys, tableOf(keys, "id,name,prefix=KEY,scopes,state,expiresAt,lastUsedAt,usedToday=TODAY,refusedToday=REFUSED,bannedUntil"))
	})
}

// onKey returns a command that does something to a key, and says what.
func onKey(a *app, s spec, did string, do func(op operator.Operator, ctx context.Context, id string) (operator.Key, error)) *cobra.Command {
	s.args, s.output = cobra.ExactArgs(1), tables()
	return onOperator(a, s, func(ctx context.Context, op operator.Operator, args []string) error {
		k, err := do(op, ctx, args[0])
		if err != nil {
			return err
		}
		return a.printDone(k, "%s the key %s (%s) of %s", did, k.ID, k.Name, k.Workspace)
	})
}

func keyRevoke(a *app) *cobra.Command {
	return onKey(a, spec{
		use:   "revoke ID",
		short: "Revoke a key for good",
		long:  "Revoke a key. It stops working within one second. This cannot be undone.",
	}, "Revoked", operator.Operator.RevokeKey)
}

func keyBan(a *app) *cobra.Command {
	var ban operator.NewBan
	cmd := onKey(a, spec{use: "ban ID --for 1h --reason R", short: "Ban a key for some time", needs: []string{"for", "reason"}}, "Banned",
		func(op operator.Operator, ctx context.Context, id string) (operator.Key, error) {
			return op.BanKey(ctx, id, ban)
		})
	cmd.Flags().Var(atMost(operator.MaxBan, duration(&ban.For, 1)), "for", "ban for `DURATION`, such as 1h or 7d")
	cmd.Flags().Var(&value[string]{To: &ban.Reason, Read: func(s string) (string, error) { return s, operator.CheckReason(s) }}, "reason", "the reason `WHY`, for the audit log")
	return cmd
}

func keyUnban(a *app) *cobra.Command {
	return onKey(a, spec{use: "unban ID", short: "Lift the ban of a key"}, "Unbanned", operator.Operator.UnbanKey)
}
