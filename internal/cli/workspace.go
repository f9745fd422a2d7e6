package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/config"
	"example.com/petstore/internal/operator"
)

func workspaceCommand(a *app) *cobra.Command {
	return newGroup("workspace", "Create, list, change and delete workspaces",
		workspaceCreate(a), workspaceList(a), workspaceShow(a), workspaceRename(a), workspaceSetPlan(a), workspaceReset(a), workspaceDelete(a))
}

// printWorkspaces prints a workspace, or all of a list.
func printWorkspaces[T operator.Workspace | []operator.Workspace](a *app, v T, err error) error {
	if err != nil {
		return err
	}
	return a.print(v, tableOf(v, "id,name,plan,perMinute,perDay,createdAt"))
}

// quotaFlags registers the flags of the enterprise plan's numbers.
func quotaFlags(cmd *cobra.Command, q *access.Quota) {
	cmd.Flags().Var(config.Whole(&q.PerMinute, 1, access.MaxQuota), "per-minute", "for the enterprise plan: allow `N` requests a minute")
	cmd.Flags().Var(config.Whole(&q.PerDay, 1, access.MaxQuota), "per-day", "for the enterprise plan: allow `N` requests a day")
}

// planOf returns the plan with its quota. Its error names what is at fault: the plan, which is given as where, or a flag.
func planOf(where config.Origin, name string, q access.Quota) (operator.Plan, error) {
	chosen := operator.Plan{Plan: access.Plan(name), PerMinute: q.PerMinute, PerDay: q.PerDay}
	_, err := access.QuotaFor(chosen.Plan, q)
	bad, yes := errors.AsType[*access.QuotaError](err)
	if !yes {
		return chosen, nil
	}
	if flag, number := map[string]config.Origin{"perMinute": "--per-minute", "perDay": "--per-day"}[bad.Member]; number {
		where = flag
	}
	return chosen, &config.Fault{Origin: where, Reason: bad.Error()}
}

func workspaceCreate(a *app) *cobra.Command {
	var plan string
	var quota access.Quota
	var n operator.NewWorkspace
	cmd := onOperator(a, spec{
		use: "create NAME --plan PLAN [--per-minute N --per-day N]", args: cobra.ExactArgs(1), needs: []string{"plan"},
		short:   "Create a workspace",
		long:    "Create a workspace. If there is no database yet, it is created too.",
		example: "  petstore workspace create acme --plan pro\n  petstore workspace create huge --plan enterprise --per-minute 5000 --per-day 1000000",
		output:  tables(), migrates: true,
		check: func(args []string) (err error) {
			if n.Name, err = checkedName("NAME", args[0]); err == nil {
				n.Plan, err = planOf("--plan", plan, quota)
			}
			return err
		},
	}, func(ctx context.Context, op operator.Operator, _ []string) error {
		w, err := op.CreateWorkspace(ctx, n)
		return printWorkspaces(a, w, err)
	})
	cmd.Flags().StringVar(&plan, "plan", "", "the `PLAN`: free, pro, business or enterprise")
	quotaFlags(cmd, &quota)
	return cmd
}

// checkedName returns the name of a workspace or of a token that an argument gives.
func checkedName(argument, text string) (string, error) {
	name, err := access.CheckName(text)
	if err != nil {
		return "", usagef("%s: %v", argument, err)
	}
	return name, nil
}

func workspaceList(a *app) *cobra.Command {
	return onOperator(a, spec{use: "list", short: "List all workspaces", output: tables()}, func(ctx context.Context, op operator.Operator, _ []string) error {
		all, err := op.Workspaces(ctx)
		return printWorkspaces(a, all, err)
	})
}

func workspaceSetPlan(a *app) *cobra.Command {
	var quota access.Quota
	var plan operator.Plan
	cmd := onWorkspace(a, spec{
		use: "set-plan NAME PLAN [--per-minute N --per-day N]", args: cobra.ExactArgs(2),
		short: "Move a workspace to another plan",
		long:  "Move a workspace to another plan: free, pro, business or enterprise. It takes effect within one second. What was already used today still counts.",
		check: func(args []string) (err error) {
			plan, err = planOf("PLAN", args[1], quota)
			return err
		},
	}, func(ctx context.Context, op operator.Operator, id int64) error {
		w, err := op.SetPlan(ctx, id, plan)
		return printWorkspaces(a, w, err)
	})
	quotaFlags(cmd, &quota)
	return cmd
}

func workspaceRename(a *app) *cobra.Command {
	var name string
	return onWorkspace(a, spec{
		use: "rename NAME NEW", args: cobra.ExactArgs(2),
		short: "Rename a workspace",
		long:  "Rename a workspace. Its id, keys and data stay the same.",
		check: func(args []string) (err error) {
			name, err = checkedName("NEW", args[1])
			return err
		},
	}, func(ctx context.Context, op operator.Operator, id int64) error {
		w, err := op.Rename(ctx, id, name)
		return printWorkspaces(a, w, err)
	})
}

func workspaceReset(a *app) *cobra.Command {
	return destructive(a, spec{
		use: "reset NAME [--yes]", short: "Remove all pets, categories and orders from a workspace",
		long: "Remove all pets, categories and orders from a workspace. This cannot be undone.\n\nIts keys stay. Ids are not used again. Requests of this workspace get 503 until\neverything is removed; other workspaces are not affected.",
	}, "remove all pets, categories and orders from %s", "Emptied", operator.Operator.Reset)
}

func workspaceDelete(a *app) *cobra.Command {
	return destructive(a, spec{
		use: "delete NAME [--yes]", short: "Delete a workspace with its keys and all its data",
	}, "delete the workspace %s with its keys and all its data", "Deleted", operator.Operator.Delete)
}

// destructive returns a command that asks before it does.
func destructive(a *app, s spec, what, did string, do func(op operator.Operator, ctx context.Context, id int64) error) *cobra.Command {
	var yes bool
	s.args, s.output = cobra.ExactArgs(1), tables()
	cmd := onOperator(a, s, func(ctx context.Context, op operator.Operator, args []string) error {
		w, err := op.Find(ctx, args[0])
		if err != nil {
			return err
		}
		if err := a.confirm(ctx, yes, fmt.Sprintf(what, w.Name), w.Name); err != nil {
			return err
		}
		err = do(op, ctx, w.ID)               // the one that was shown, should another have its name by now
		if errors.Is(err, context.Canceled) { // of which Main says no more than that
			fmt.Fprintln(a.err, "petstore: the removal has begun and cannot be undone; a running server finishes it within a minute, or run the command again")
		}
		if err != nil {
			return err
		}
		return a.printDone(w, "%s the workspace %s", did, w.Name)
	})
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask for confirmation")
	return cmd
}

func workspaceShow(a *app) *cobra.Command {
	return onWorkspace(a, spec{
		use: "show NAME", args: cobra.ExactArgs(1),
		short: "Show the plan, usage, keys, pets and orders of a workspace",
		long: `Show the plan of a workspace, how much of it is used, and how many live keys, pets
and orders the workspace has.

The database is up to half a second behind. If nodes count in Redis, use "petstore
api account" or --server for the latest counts.`,
	}, func(ctx context.Context, op operator.Operator, id int64) error {
		v, err := op.Workspace(ctx, id)
		if err != nil {
			return err
		}
		window := func(w operator.Window) string {
			return fmt.Sprintf("%d of %d used, until %s", w.Used, w.Limit, moment(w.Reset, ""))
		}
		return a.print(v, append(detailsOf(v, "id,name,plan,keys,categories,pets,orders,lastUsedAt,createdAt"), []string{"MINUTE", window(v.Minute)}, []string{"DAY", window(v.Day)}))
	})
}
