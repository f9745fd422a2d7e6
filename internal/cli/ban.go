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
