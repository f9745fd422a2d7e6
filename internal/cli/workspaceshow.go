package cli

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"example.com/petstore/internal/node"
	"example.com/petstore/internal/ratelimit"
)

// workspaceDetail is all that is printed of one workspace.
type workspaceDetail struct {
	workspaceView
	Minute     windowView `json:"minute"`
	Day        windowView `json:"day"`
	Keys       int        `json:"keys"` // live ones
	Categories int64      `json:"categories"`
	Pets       int64      `json:"pets"`
	Orders     int64      `json:"orders"`
	LastUsedAt *time.Time `json:"lastUsedAt,omitempty"`
}

// windowView is what was used of a window, as it was saved last.
type windowView struct {
	Limit     int64     `json:"limit"`
	Used      int64     `json:"used"`
	Remaining int64     `json:"remaining"`
	Reset     time.Time `json:"reset"`
}

func (a *app) workspaceShow() *cobra.Command {
	o := tables()
	return a.command(spec{
		use: "show NAME", args: cobra.ExactArgs(1),
		short: "Show a workspace: its plan, what is used of it, its keys, pets and orders",
		long: `Show a workspace: its plan, what is used of both windows, and how many live keys,
pets and orders it has. A server saves the counts each half second; where nodes
count in Redis, "petstore api account" has the newest.`,
		settings: []string{"db"}, output: o,
		run: func(ctx context.Context, args []string) error {
			return a.withStore(ctx, func(db node.Store) error {
				v, err := a.detail(ctx, db, args[0])
				if err != nil {
					return err
				}
				return a.print(o, v, v.table)
			})
		},
	})
}

func (a *app) detail(ctx context.Context, db node.Store, name string) (workspaceDetail, error) {
	w, err := db.Workspace(ctx, name)
	if err != nil {
		return workspaceDetail{}, err
	}
	has, err := db.Contents(ctx, w.ID)
	if err != nil {
		return workspaceDetail{}, err
	}
	keys, err := db.Keys(ctx, w.ID)
	if err != nil {
		return workspaceDetail{}, err
	}
	saved, err := db.LoadLimits(ctx)
	if err != nil {
		return workspaceDetail{}, err
	}
	v := workspaceDetail{workspaceView: viewWorkspace(w), Categories: has.Categories, Pets: has.Pets, Orders: has.Orders}
	for _, k := range keys {
		if k.RevokedAt.IsZero() && (k.ExpiresAt.IsZero() || a.now().Before(k.ExpiresAt)) {
			v.Keys++
		}
	}
	v.use(saved, a.now())
	return v, nil
}

// use adds what the limiter saved of the workspace.
func (v *workspaceDetail) use(saved ratelimit.Saved, now time.Time) {
	const minute = time.Minute
	tomorrow := now.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
	v.Minute = windowView{v.PerMinute, 0, v.PerMinute, now.UTC().Truncate(time.Second).Add(minute)}
	v.Day = windowView{v.PerDay, 0, v.PerDay, tomorrow}
	for _, row := range saved.Windows {
		if row.Subject != "w:"+strconv.FormatInt(v.ID, 10) {
			continue
		}
		if began := time.UnixMilli(row.MinuteStart).UTC(); !now.Before(began) && now.Before(began.Add(minute)) {
			v.Minute = windowView{v.PerMinute, row.MinuteUsed, max(v.PerMinute-row.MinuteUsed, 0), began.Add(minute)}
		}
		if row.Day == now.Unix()/int64(24*time.Hour/time.Second) {
			v.Day = windowView{v.PerDay, row.DayUsed, max(v.PerDay-row.DayUsed, 0), tomorrow}
		}
	}
	var last int64
	for _, row := range saved.Keys {
		if row.Workspace == v.ID {
			last = max(last, row.LastUsed)
		}
	}
	if last > 0 {
		v.LastUsedAt = instant(time.UnixMilli(last))
	}
}

func (v workspaceDetail) table() rows {
	window := func(w windowView) string {
		return fmt.Sprintf("%d of %d used, until %s", w.Used, w.Limit, moment(w.Reset, ""))
	}
	return rows{
		{"ID", number(v.ID)}, {"NAME", v.Name}, {"PLAN", string(v.Plan)},
		{"MINUTE", window(v.Minute)}, {"DAY", window(v.Day)},
		{"KEYS", strconv.Itoa(v.Keys)}, {"CATEGORIES", number(v.Categories)}, {"PETS", number(v.Pets)}, {"ORDERS", number(v.Orders)},
		{"LAST USED", momentOf(v.LastUsedAt, "never")}, {"CREATED", momentOf(v.CreatedAt, "")},
	}
}
