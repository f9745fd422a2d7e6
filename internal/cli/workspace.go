package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/config"
	"example.com/petstore/internal/node"
	"example.com/petstore/internal/ratelimit"
)

func (a *app) workspaceCommand() *cobra.Command {
	return a.group("workspace", "Make, list, change and remove workspaces",
		a.workspaceCreate(), a.workspaceList(), a.workspaceShow(), a.workspaceRename(), a.workspaceSetPlan(), a.workspaceReset(), a.workspaceDelete())
}

// workspaceView is a workspace as it is printed.
type workspaceView struct {
	ID        int64       `json:"id"`
	Name      string      `json:"name"`
	Plan      access.Plan `json:"plan"`
	PerMinute int64       `json:"perMinute"`
	PerDay    int64       `json:"perDay"`
	CreatedAt *time.Time  `json:"createdAt"`
}

func viewWorkspace(w access.Workspace) workspaceView {
	return workspaceView{w.ID, w.Name, w.Plan, w.Quota.PerMinute, w.Quota.PerDay, instant(w.CreatedAt)}
}

func workspaceTable(all ...access.Workspace) rows {
	r := rows{{"ID", "NAME", "PLAN", "PER MINUTE", "PER DAY", "CREATED"}}
	for _, w := range all {
		r.add(strconv.FormatInt(w.ID, 10), w.Name, string(w.Plan),
			strconv.FormatInt(w.Quota.PerMinute, 10), strconv.FormatInt(w.Quota.PerDay, 10), moment(w.CreatedAt, ""))
	}
	return r
}

func (a *app) printWorkspace(o *output, w access.Workspace) error {
	return a.print(o, viewWorkspace(w), func() rows { return workspaceTable(w) })
}

// planFlags are the flags that choose a plan.
type planFlags struct {
	plan  string
	quota access.Quota
}

func (p *planFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.plan, "plan", "", "the `PLAN`: free, pro, business or enterprise")
	cmd.Flags().Var(whole(&p.quota.PerMinute, 1, access.MaxQuota), "per-minute", "with enterprise, admit `N` requests a minute")
	cmd.Flags().Var(whole(&p.quota.PerDay, 1, access.MaxQuota), "per-day", "with enterprise, admit `N` requests a day")
}

// chosen returns the plan with its quota. The plan is that of --plan or the
// second argument. The error names what is at fault.
func (p *planFlags) chosen(args []string) (access.Plan, access.Quota, error) {
	where, name := config.Origin("--plan"), p.plan
	switch {
	case len(args) > 1 && name != "":
		return "", access.Quota{}, usagef("the plan is given twice: %q and --plan %q", args[1], name)
	case len(args) > 1:
		where, name = "PLAN", args[1]
	case name == "":
		return "", access.Quota{}, usagef("--plan is needed: free, pro, business or enterprise")
	}
	plan := access.Plan(name)
	q, err := access.QuotaFor(plan, p.quota)
	if err == nil {
		return plan, q, nil
	}
	if slices.Contains(access.Plans(), plan) {
		where = config.Origin("--" + p.culprit(plan == access.Enterprise))
	}
	return plan, q, &config.Fault{Origin: where, Reason: err.Error()}
}

// culprit returns the number that is missing or out of range, or that a plan
// which has its own was given.
func (p *planFlags) culprit(enterprise bool) string {
	if enterprise == (p.quota.PerMinute == 0) {
		return "per-minute"
	}
	return "per-day"
}

func (a *app) workspaceCreate() *cobra.Command {
	var plan planFlags
	o := tables()
	cmd := a.command(spec{
		use: "create NAME --plan PLAN [--per-minute N --per-day N]", args: cobra.RangeArgs(1, 2),
		short:    "Make a workspace",
		long:     "Make a workspace. The database is made too if there is none.",
		example:  "  petstore workspace create acme --plan pro\n  petstore workspace create huge --plan enterprise --per-minute 5000 --per-day 1000000",
		settings: []string{"db"}, output: o,
		run: func(ctx context.Context, args []string) error {
			name, err := access.CheckName(args[0])
			if err != nil {
				return usagef("NAME: %v", err)
			}
			p, q, err := plan.chosen(args)
			if err != nil {
				return err
			}
			return a.using(ctx, node.StoreUse{Few: true, Migrate: true, Now: a.now}, func(db node.Store) error {
				w, err := db.CreateWorkspace(ctx, access.Workspace{Name: name, Plan: p, Quota: q, CreatedAt: a.now()}, actor)
				if err != nil {
					return err
				}
				return a.printWorkspace(o, w)
			})
		},
	})
	plan.register(cmd)
	return cmd
}

func (a *app) workspaceList() *cobra.Command {
	o := tables()
	return a.command(spec{
		use: "list", short: "List the workspaces",
		settings: []string{"db"}, output: o,
		run: func(ctx context.Context, _ []string) error {
			return a.withStore(ctx, func(db node.Store) error {
				all, err := db.Workspaces(ctx)
				if err != nil {
					return err
				}
				views := make([]workspaceView, len(all))
				for i, w := range all {
					views[i] = viewWorkspace(w)
				}
				return a.print(o, views, func() rows { return workspaceTable(all...) })
			})
		},
	})
}

func (a *app) workspaceSetPlan() *cobra.Command {
	var plan planFlags
	o := tables()
	cmd := a.command(spec{
		use: "set-plan NAME --plan PLAN [--per-minute N --per-day N]", args: cobra.RangeArgs(1, 2),
		short:    "Move a workspace to another plan",
		long:     "Move a workspace to another plan. A running server follows within one second, and forgets nothing of what was used. The plan may also be given as a second argument: set-plan NAME PLAN.",
		settings: []string{"db"}, output: o,
		run: func(ctx context.Context, args []string) error {
			p, q, err := plan.chosen(args)
			if err != nil {
				return err
			}
			return a.withStore(ctx, func(db node.Store) error {
				w, err := db.SetPlan(ctx, args[0], p, q, actor)
				if err != nil {
					return err
				}
				return a.printWorkspace(o, w)
			})
		},
	})
	plan.register(cmd)
	return cmd
}

func (a *app) workspaceRename() *cobra.Command {
	o := tables()
	return a.command(spec{
		use: "rename NAME NEW", args: cobra.ExactArgs(2),
		short:    "Give a workspace another name",
		long:     "Give a workspace another name. Its id, its keys and all that it has stay, and a running server follows within one second.",
		settings: []string{"db"}, output: o,
		run: func(ctx context.Context, args []string) error {
			name, err := access.CheckName(args[1])
			if err != nil {
				return usagef("NEW: %v", err)
			}
			return a.withStore(ctx, func(db node.Store) error {
				w, err := db.RenameWorkspace(ctx, args[0], name, actor)
				if err != nil {
					return err
				}
				return a.printWorkspace(o, w)
			})
		},
	})
}

func (a *app) workspaceReset() *cobra.Command {
	return a.destructive(spec{
		use: "reset NAME [--yes]", short: "Remove all pets, categories and orders of a workspace",
		long: "Remove all pets, categories and orders of a workspace. Its keys stay, and its ids go on: none is issued again. Its requests get 503 until all rows are removed; other workspaces go on beside it.",
	}, "remove all pets, categories and orders of %s", "Emptied", node.Store.ResetWorkspace)
}

func (a *app) workspaceDelete() *cobra.Command {
	return a.destructive(spec{
		use: "delete NAME [--yes]", short: "Remove a workspace with its keys and all that it has",
	}, "remove the workspace %s with its keys and all that it has", "Deleted", node.Store.DeleteWorkspace)
}

// destructive returns a command that asks before it does.
func (a *app) destructive(s spec, what, did string, do func(db node.Store, ctx context.Context, name string, by access.Actor) error) *cobra.Command {
	var yes bool
	s.args, s.settings, s.output = cobra.ExactArgs(1), []string{"db"}, tables()
	s.run = func(ctx context.Context, args []string) error {
		return a.withStore(ctx, func(db node.Store) error {
			w, err := db.Workspace(ctx, args[0])
			if err != nil {
				return err
			}
			if err := a.confirm(ctx, yes, fmt.Sprintf(what, w.Name), w.Name); err != nil {
				return err
			}
			err = do(db, ctx, w.Name, actor)
			if errors.Is(err, context.Canceled) { // of which Main says no more than that
				fmt.Fprintln(a.err, "petstore: what has begun is not undone: a server ends it within a minute, or the same command does")
			}
			if err != nil {
				return err
			}
			return a.done(s.output, viewWorkspace(w), "%s the workspace %s", did, w.Name)
		})
	}
	cmd := a.command(s)
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}

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
