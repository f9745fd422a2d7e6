package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/config"
	"example.com/petstore/internal/node"
)

func (a *app) workspaceCommand() *cobra.Command {
	return a.group("workspace", "Make, list, change and remove workspaces",
		a.workspaceCreate(), a.workspaceList(), a.workspaceSetPlan(), a.workspaceReset(), a.workspaceDelete())
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
	cmd.Flags().Int64Var(&p.quota.PerMinute, "per-minute", 0, "with enterprise, admit `N` requests a minute")
	cmd.Flags().Int64Var(&p.quota.PerDay, "per-day", 0, "with enterprise, admit `N` requests a day")
}

// chosen returns the plan with its quota, or an error that names the flag at
// fault, or where the plan was given.
func (p *planFlags) chosen(a *app, where config.Origin) (access.Plan, access.Quota, error) {
	plan := access.Plan(p.plan)
	q, err := access.QuotaFor(plan, p.quota)
	if err == nil {
		return plan, q, nil
	}
	if slices.Contains(access.Plans(), plan) {
		where = a.origins.Blame(p.culprit(plan == access.Enterprise))
	}
	return plan, q, &config.Fault{Origin: where, Reason: err.Error()}
}

// culprit returns the number that is missing or out of range, or that a plan
// which has its own was given.
func (p *planFlags) culprit(enterprise bool) string {
	minuteAtFault := p.quota.PerMinute != 0
	if enterprise {
		minuteAtFault = p.quota.PerMinute < 1 || p.quota.PerMinute > access.MaxQuota
	}
	if minuteAtFault {
		return "per-minute"
	}
	return "per-day"
}

func (a *app) workspaceCreate() *cobra.Command {
	var plan planFlags
	o := tables()
	cmd := a.command(spec{
		use:      "create NAME --plan PLAN [--per-minute N --per-day N]",
		short:    "Make a workspace",
		long:     "Make a workspace. The database is made too if there is none.",
		example:  "  petstore workspace create acme --plan pro\n  petstore workspace create huge --plan enterprise --per-minute 5000 --per-day 1000000",
		settings: []string{"db"}, output: o,
		run: func(ctx context.Context, args []string) error {
			name, err := access.CheckName(args[0])
			if err != nil {
				return usagef("NAME: %v", err)
			}
			if plan.plan == "" {
				return usagef("--plan is needed: free, pro, business or enterprise")
			}
			p, q, err := plan.chosen(a, a.origins.Blame("plan"))
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
	cmd.Flags().StringVar(&plan.plan, "plan", "", "the `PLAN`: free, pro, business or enterprise")
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
		use:      "set-plan NAME PLAN [--per-minute N --per-day N]",
		short:    "Move a workspace to another plan",
		long:     "Move a workspace to another plan. A running server follows within one second, and forgets nothing of what was used.",
		settings: []string{"db"}, output: o,
		run: func(ctx context.Context, args []string) error {
			plan.plan = args[1]
			p, q, err := plan.chosen(a, "PLAN")
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

func (a *app) workspaceReset() *cobra.Command {
	return a.destructive("reset NAME", "Remove all pets, categories and orders of a workspace",
		"Remove all pets, categories and orders of a workspace. Its keys stay, and its ids go on: none is issued again.",
		"remove all pets, categories and orders of",
		func(ctx context.Context, db node.Store, name string) error {
			return db.ResetWorkspace(ctx, name, actor)
		})
}

func (a *app) workspaceDelete() *cobra.Command {
	return a.destructive("delete NAME", "Remove a workspace with its keys and all that it has", "",
		"remove the workspace, its keys and all that it has:",
		func(ctx context.Context, db node.Store, name string) error {
			return db.DeleteWorkspace(ctx, name, actor)
		})
}

// destructive returns a command that asks before it does.
func (a *app) destructive(use, short, long, what string, do func(context.Context, node.Store, string) error) *cobra.Command {
	var yes bool
	cmd := a.command(spec{
		use: use + " [--yes]", short: short, long: long,
		settings: []string{"db"},
		run: func(ctx context.Context, args []string) error {
			return a.withStore(ctx, func(db node.Store) error {
				w, err := db.Workspace(ctx, args[0])
				if err != nil {
					return err
				}
				if err := a.confirm(ctx, yes, fmt.Sprintf("%s %s", what, w.Name), w.Name); err != nil {
					return err
				}
				return do(ctx, db, w.Name)
			})
		},
	})
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}
