package postgres

import (
	"example.com/petstore/internal/petstore"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"example.com/petstore/internal/store"
)

var _ petstore.Feed = (*DB)(nil)

// The statements that write events. Feeds are raised in the order of the workspaces, and
// stay locked until the commit: so nobody sees an id before all smaller ones. They must
// be the last statements of their transaction that can wait.
//
// insertEvent gives an event the id that is $2 before the last, as [store.RaiseFeed]
// left it.
const insertEvent = `INSERT INTO events (workspace, id, at, type, request, data, previous)
	VALUES ($1, (SELECT last FROM feeds WHERE workspace = $1) - $2, $3, $4, $5, $6, $7)`

// addEvents notes the events of a change that has its ids.
func (g *group) addEvents(m *groupedChange) {
	workspace := m.Job.change.Workspace
	if events := m.effects.Events(g.now, m.Job.change.RequestID); len(events) > 0 {
		g.events[workspace] = append(g.events[workspace], events...)
	}
}

// queueEvents queues the statements that write the events of the group.
func (g *group) queueEvents(b *pgx.Batch) {
	for _, workspace := range slices.Sorted(maps.Keys(g.events)) {
		events := g.events[workspace]
		b.Queue(store.RaiseFeed, workspace, len(events))
		for i := range events {
			e := &events[i]
			b.Queue(insertEvent, workspace, len(events)-1-i, e.CreatedAt.Millis, string(e.Type), e.RequestID, string(e.Data), string(e.Previous))
		}
	}
}
