package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/spf13/cobra"

	"example.com/petstore/internal/config"
	"example.com/petstore/internal/node"
	"example.com/petstore/internal/petstore"
)

// How many events are read at once, and how often the end of a feed is looked at.
const (
	eventsAtOnce = 1000
	lookForMore  = 500 * time.Millisecond
)

func eventsCommand(a *app) *cobra.Command {
	var q petstore.EventQuery
	after := int64(-1) // the oldest that is kept
	var follow bool
	cmd := newCommand(a, spec{
		use: "events WORKSPACE [--follow] [--type TYPE,...] [--after ID]", args: cobra.ExactArgs(1),
		short: "Print the events of a workspace",
		long: `Print the events of a workspace, one per line, from the oldest that is kept. With
--follow, keep printing new events until interrupted. A server can keep running
meanwhile. To follow a server on another machine, use its API: GET /events.`,
		example:  "  petstore events acme --follow\n  petstore events acme --type order.created,order.cancelled --after 107",
		settings: []string{"db"}, output: tables(),
		run: func(ctx context.Context, args []string) error {
			q.After, q.Oldest, q.Limit = after, after < 0, eventsAtOnce
			return a.withReader(ctx, func(db node.Store) error { return a.events(ctx, db, args[0], q, follow) })
		},
	})
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "keep printing new events")
	cmd.Flags().Var(config.List(&q.Types, config.Word(new(petstore.EventType), petstore.EventTypes()...)), "type", "print only events of the types `TYPE,...`")
	cmd.Flags().Var(config.Whole(&after, 0, math.MaxInt64), "after", "print only events after the one with this `ID`; 0 is the beginning")
	return cmd
}

func (a *app) events(ctx context.Context, db node.Store, workspace string, q petstore.EventQuery, follow bool) error {
	w, err := db.Workspace(ctx, workspace)
	if err != nil {
		return err
	}
	for {
		page, err := db.Events(ctx, w.Shop, q)
		if err != nil {
			return err
		}
		for i := range page.Events {
			if err := a.printEvent(&page.Events[i]); err != nil {
				return err
			}
		}
		if q.After, q.Oldest = page.Next, false; page.More {
			continue
		}
		if !follow {
			return nil
		}
		if pause(ctx, lookForMore); ctx.Err() != nil {
			return ctx.Err()
		}
		if w, err = db.WorkspaceByID(ctx, w.ID); err != nil { // a reset gives it another shop
			return err
		}
	}
}

// printEvent prints an event in a line.
func (a *app) printEvent(e *petstore.Event) error {
	line := fmt.Sprintf("%-8d %s  %-18s  %s", e.ID, moment(e.CreatedAt.UTC()), e.Type, e.Data)
	if len(e.Previous) > 0 {
		line += " was " + string(e.Previous)
	}
	return a.printLine(json.RawMessage(petstore.JSON(e)), line)
}
