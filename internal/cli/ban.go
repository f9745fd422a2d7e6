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

func (a *app) keyRevoke() *cobra.Command {
	return a.command(spec{
		use:      "revoke ID",
		short:    "Refuse a key from now on",
		long:     "Refuse a key from now on. A running server follows within one second. It cannot be undone.",
		settings: []string{"db"},
		run: func(ctx context.Context, args []string) error {
			return a.withStore(ctx, func(db node.Store) error { return db.RevokeKey(ctx, args[0], a.now(), actor) })
		},
	})
}

func (a *app) keyBan() *cobra.Command {
	var length time.Duration
	var reason string
	cmd := a.command(spec{
		use:      "ban ID --for 1h --reason R",
		short:    "Refuse a key for a while",
		settings: []string{"db"},
		run: func(ctx context.Context, args []string) error {
			switch {
			case length <= 0:
				return usagef("--for is needed: how long the ban lasts, such as 1h")
			case strings.TrimSpace(reason) == "":
				return usagef("--reason is needed: why the key is banned")
			}
			if err := checkReason(reason); err != nil {
				return a.fault("reason", "%v", err)
			}
			now := a.now()
			ban := access.Ban{KeyID: args[0], From: now, Until: now.Add(length), Reason: reason, By: ratelimit.ByOperator}
			return a.withStore(ctx, func(db node.Store) error { return db.SetBan(ctx, ban, actor) })
		},
	})
	cmd.Flags().DurationVar(&length, "for", 0, "ban for `DURATION`")
	cmd.Flags().StringVar(&reason, "reason", "", "say `WHY`, for the audit log")
	return cmd
}

// maxReason is the greatest number of characters in the reason of a ban.
const maxReason = 1000

// checkReason returns what is wrong with the reason of a ban: it is shown to
// operators, and PostgreSQL keeps valid UTF-8 alone.
func checkReason(reason string) error {
	switch {
	case utf8.RuneCountInString(reason) > maxReason:
		return fmt.Errorf("must have at most %d characters", maxReason)
	case !utf8.ValidString(reason):
		return errors.New("must be valid UTF-8")
	case strings.ContainsFunc(reason, unicode.IsControl):
		return errors.New("must not contain control characters")
	}
	return nil
}

func (a *app) keyUnban() *cobra.Command {
	return a.command(spec{
		use:      "unban ID",
		short:    "Lift the ban of a key",
		settings: []string{"db"},
		run: func(ctx context.Context, args []string) error {
			return a.withStore(ctx, func(db node.Store) error { return db.LiftBan(ctx, args[0], actor) })
		},
	})
}
