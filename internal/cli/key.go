package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/node"
	"example.com/petstore/internal/ratelimit"
)

func (a *app) keyCommand() *cobra.Command {
	return a.group("key", "Make, list, rotate, revoke and ban API keys",
		a.keyCreate(), a.keyList(), a.keyRotate(), a.keyRevoke(), a.keyBan(), a.keyUnban())
}

// keyView is a key as it is printed. Key is the key itself, which is known only
// when it is made.
type keyView struct {
	ID           string     `json:"id"`
	Key          string     `json:"key,omitempty"`
	Workspace    string     `json:"workspace,omitempty"`
	Name         string     `json:"name"`
	Prefix       string     `json:"prefix"`
	Scopes       []string   `json:"scopes"`
	State        string     `json:"state"`
	CreatedAt    *time.Time `json:"createdAt"`
	ExpiresAt    *time.Time `json:"expiresAt,omitempty"`
	RevokedAt    *time.Time `json:"revokedAt,omitempty"`
	RotatedTo    string     `json:"rotatedTo,omitempty"`
	LastUsedAt   *time.Time `json:"lastUsedAt,omitempty"`
	UsedToday    int64      `json:"usedToday"`
	RefusedToday int64      `json:"refusedToday"`
	BannedUntil  *time.Time `json:"bannedUntil,omitempty"`
	BanReason    string     `json:"banReason,omitempty"`
}

func viewKey(k access.Key, now time.Time) keyView {
	v := keyView{
		ID: k.ID, Name: k.Name, Prefix: k.Prefix, Scopes: k.Scopes.List(), State: k.State(now),
		CreatedAt: instant(k.CreatedAt), ExpiresAt: instant(k.ExpiresAt), RevokedAt: instant(k.RevokedAt), RotatedTo: k.RotatedTo,
	}
	if k.Ban != nil && now.Before(k.Ban.Until) {
		v.BannedUntil, v.BanReason = instant(k.Ban.Until), k.Ban.Reason
	}
	return v
}

// count adds what the limiter saved of the key, at most a second ago.
func (v *keyView) count(row ratelimit.SavedKey, now time.Time) {
	if row.LastUsed > 0 {
		v.LastUsedAt = instant(time.UnixMilli(row.LastUsed))
	}
	if today := now.Unix() / int64(24*time.Hour/time.Second); row.Day == today {
		v.UsedToday, v.RefusedToday = row.Admitted, row.Refused
	}
}

func (a *app) keyCreate() *cobra.Command {
	var name string
	scopes := []string{"read", "write"}
	var expires time.Duration
	o := tables()
	cmd := a.command(spec{
		use: "create WORKSPACE [--name N] [--scope read,write] [--expires 30d]", args: cobra.ExactArgs(1),
		short:    "Make a key, and show it once",
		long:     "Make a key, and show it once: the database keeps only its hash. A running server accepts it within one second.",
		settings: []string{"db"}, output: o,
		run: func(ctx context.Context, args []string) error {
			k, secret, err := a.newKey(name, strings.Join(scopes, ","), expires)
			if err != nil {
				return err
			}
			return a.withStore(ctx, func(db node.Store) error {
				w, err := db.Workspace(ctx, args[0])
				if err != nil {
					return err
				}
				k.WorkspaceID = w.ID
				if err := db.CreateKey(ctx, k, actor); err != nil {
					return err
				}
				return a.printNewKey(o, k, secret, w.Name)
			})
		},
	})
	cmd.Flags().StringVar(&name, "name", "default", "call the key `NAME`")
	cmd.Flags().Var(listOf(&scopes, text(nil)), "scope", "let the key `SCOPE,...`: read, write, manage (default read,write)")
	cmd.Flags().Var(duration(&expires, 1), "expires", "let the key expire after `DURATION`, such as 30d or 12h (default never)")
	return cmd
}

// newKey returns a key of the given properties, and the key itself.
func (a *app) newKey(name, scope string, expires time.Duration) (access.Key, string, error) {
	name, err := access.CheckName(name)
	if err != nil {
		return access.Key{}, "", a.fault("name", "%v", err)
	}
	scopes, err := access.ParseScopes(scope)
	if err != nil {
		return access.Key{}, "", a.fault("scope", "%v", err)
	}
	k, secret := a.mint()
	k.Name, k.Scopes = name, scopes
	if expires > 0 {
		k.ExpiresAt = k.CreatedAt.Add(expires)
	}
	return k, secret, nil
}

// mint returns a new key of no properties, and the key itself.
func (a *app) mint() (access.Key, string) {
	secret, prefix := access.Mint()
	return access.Key{ID: access.MintID(), Prefix: prefix, Hash: access.HashOf(secret), CreatedAt: a.now()}, secret
}

// printNewKey prints a key for the one time that it is known.
func (a *app) printNewKey(o *output, k access.Key, secret, workspace string) error {
	v := viewKey(k, a.now())
	v.Key, v.Workspace = secret, workspace
	err := a.print(o, v, func() rows {
		r := rows{{"ID", k.ID}, {"NAME", k.Name}, {"SCOPES", k.Scopes.String()}, {"EXPIRES", moment(k.ExpiresAt, "never")}}
		r.add()
		r.add(secret)
		return r
	})
	if err == nil {
		fmt.Fprintln(a.err, "petstore: keep the key: it is not shown again")
	}
	return err
}

func (a *app) keyRotate() *cobra.Command {
	overlap := 24 * time.Hour
	o := tables()
	cmd := a.command(spec{
		use: "rotate ID [--overlap 24h]", args: cobra.ExactArgs(1),
		short:    "Make a key that takes another's place, and show it once",
		long:     "Make a key with the workspace, name, scopes and expiry of another, and show it once. Both are valid for the overlap; then the old one expires. A key that was rotated, has expired or is revoked cannot be rotated.",
		settings: []string{"db"}, output: o,
		run: func(ctx context.Context, args []string) error {
			next, secret := a.mint()
			return a.withStore(ctx, func(db node.Store) error {
				k, err := db.RotateKey(ctx, args[0], next, a.now().Add(overlap), actor)
				if err != nil {
					return err
				}
				return a.printNewKey(o, k, secret, nameOf(ctx, db, k.WorkspaceID))
			})
		},
	})
	cmd.Flags().Var(duration(&overlap, 0), "overlap", "keep the old key valid for `DURATION` (default 24h)")
	return cmd
}

// nameOf returns the name of a workspace, or "" if it cannot be read: a key
// that was made must be shown all the same.
func nameOf(ctx context.Context, db node.Store, workspace int64) string {
	all, err := db.Workspaces(ctx)
	if err != nil {
		return ""
	}
	for _, w := range all {
		if w.ID == workspace {
			return w.Name
		}
	}
	return ""
}

func (a *app) keyList() *cobra.Command {
	o := tables()
	return a.command(spec{
		use: "list WORKSPACE", args: cobra.ExactArgs(1), short: "List the keys of a workspace, with what they did today",
		settings: []string{"db"}, output: o,
		run: func(ctx context.Context, args []string) error {
			return a.withStore(ctx, func(db node.Store) error {
				views, err := a.keysOf(ctx, db, args[0])
				if err != nil {
					return err
				}
				return a.print(o, views, func() rows { return keyTable(views) })
			})
		},
	})
}

func (a *app) keysOf(ctx context.Context, db node.Store, workspace string) ([]keyView, error) {
	w, err := db.Workspace(ctx, workspace)
	if err != nil {
		return nil, err
	}
	keys, err := db.Keys(ctx, w.ID)
	if err != nil {
		return nil, err
	}
	saved, err := db.LoadLimits(ctx)
	if err != nil {
		return nil, err
	}
	counts := make(map[string]ratelimit.SavedKey, len(saved.Keys))
	for _, row := range saved.Keys {
		counts[row.KeyID] = row
	}
	views := make([]keyView, len(keys))
	for i, k := range keys {
		views[i] = viewKey(k, a.now())
		views[i].count(counts[k.ID], a.now())
	}
	return views, nil
}

func keyTable(views []keyView) rows {
	r := rows{{"ID", "NAME", "KEY", "SCOPES", "STATE", "EXPIRES", "LAST USED", "TODAY", "REFUSED", "BANNED UNTIL"}}
	for _, v := range views {
		r.add(v.ID, v.Name, v.Prefix+"…", strings.Join(v.Scopes, ","), v.State, momentOf(v.ExpiresAt, "never"), momentOf(v.LastUsedAt, "never"),
			strconv.FormatInt(v.UsedToday, 10), strconv.FormatInt(v.RefusedToday, 10), momentOf(v.BannedUntil, "-"))
	}
	return r
}

func momentOf(t *time.Time, none string) string {
	if t == nil {
		return none
	}
	return moment(*t, none)
}

// onKey returns a command that does something to a key, and says what.
func (a *app) onKey(s spec, did string, do func(ctx context.Context, db node.Store, id string) error) *cobra.Command {
	s.args, s.settings, s.output = cobra.ExactArgs(1), []string{"db"}, tables()
	s.run = func(ctx context.Context, args []string) error {
		return a.withStore(ctx, func(db node.Store) error {
			if err := do(ctx, db, args[0]); err != nil {
				return err
			}
			k, err := db.Key(ctx, args[0])
			if err != nil {
				return err
			}
			v := viewKey(k, a.now())
			v.Workspace = nameOf(ctx, db, k.WorkspaceID)
			return a.done(s.output, v, "%s the key %s (%s) of %s", did, v.ID, v.Name, v.Workspace)
		})
	}
	return a.command(s)
}

func (a *app) keyRevoke() *cobra.Command {
	return a.onKey(spec{
		use:   "revoke ID",
		short: "Refuse a key from now on",
		long:  "Refuse a key from now on. A running server follows within one second. It cannot be undone.",
	}, "Revoked", func(ctx context.Context, db node.Store, id string) error {
		return db.RevokeKey(ctx, id, a.now(), actor)
	})
}

func (a *app) keyBan() *cobra.Command {
	var length time.Duration
	var reason string
	cmd := a.onKey(spec{use: "ban ID --for 1h --reason R", short: "Refuse a key for a while", needs: []string{"for", "reason"}}, "Banned",
		func(ctx context.Context, db node.Store, id string) error {
			now := a.now()
			return db.SetBan(ctx, access.Ban{KeyID: id, From: now, Until: now.Add(length), Reason: reason, By: ratelimit.ByOperator}, actor)
		})
	cmd.Flags().Var(duration(&length, 1), "for", "ban for `DURATION`, such as 1h or 7d")
	cmd.Flags().Var(&value[string]{to: &reason, read: checkReason}, "reason", "say `WHY`, for the audit log")
	return cmd
}

// maxReason is the greatest number of characters in the reason of a ban.
const maxReason = 1000

// checkReason refuses what cannot be the reason of a ban: it is shown to
// operators, and PostgreSQL keeps valid UTF-8 alone.
func checkReason(reason string) (string, error) {
	var err error
	switch {
	case strings.TrimSpace(reason) == "":
		err = errors.New("must not be blank")
	case utf8.RuneCountInString(reason) > maxReason:
		err = fmt.Errorf("must have at most %d characters", maxReason)
	case !utf8.ValidString(reason):
		err = errors.New("must be valid UTF-8")
	case strings.ContainsFunc(reason, unicode.IsControl):
		err = errors.New("must not contain control characters")
	}
	return reason, err
}

func (a *app) keyUnban() *cobra.Command {
	return a.onKey(spec{use: "unban ID", short: "Lift the ban of a key"}, "Unbanned",
		func(ctx context.Context, db node.Store, id string) error { return db.LiftBan(ctx, id, actor) })
}
