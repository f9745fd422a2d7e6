package postgres

import (
	"example.com/petstore/internal/feed"
	"github.com/jackc/pgx/v5"
)

var _ feed.Store = (*DB)(nil)

// insertEvents gives events their ids and writes them. Feeds are raised in the order of
// the workspaces, and stay locked until the commit: so nobody sees an id before all
// smaller ones. It must be the last statement of its transaction that can wait.
const insertEvents = `WITH raised AS (
		INSERT INTO feeds (workspace, last, forgotten)
		SELECT workspace, events, 0 FROM unnest($1::bigint[], $2::bigint[]) AS n (workspace, events) ORDER BY workspace
		ON CONFLICT (workspace) DO UPDATE SET last = greatest(feeds.last, feeds.forgotten) + excluded.last
		RETURNING workspace, last)
	INSERT INTO events (workspace, id, at, type, request, data, previous)
	SELECT workspace, last - behind, at, type, request, data, previous
	FROM unnest($3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::text[], $8::text[], $9::text[])
		AS e (workspace, behind, at, type, request, data, previous) JOIN raised USING (workspace)`

// tell notes the events of a member that has its ids.
func (g *group) tell(m *member) {
	workspace := m.Job.change.Workspace
	if events := m.effects.Events(g.now, m.Job.change.RequestID); len(events) > 0 {
		g.events[workspace] = append(g.events[workspace], events...)
	}
}

// queueEvents queues the statement that writes what the group has to tell.
func (g *group) queueEvents(b *pgx.Batch) {
	if len(g.events) == 0 {
		return
	}
	var (
		feeds, counts, workspaces, behind, ats []int64
		types, requests, data, previous        []string
	)
	for workspace, events := range g.events {
		feeds, counts = append(feeds, workspace), append(counts, int64(len(events)))
		for i := range events {
			e := &events[i]
			workspaces, behind = append(workspaces, workspace), append(behind, int64(len(events)-1-i))
			ats, types, requests = append(ats, e.CreatedAt.Millis), append(types, string(e.Type)), append(requests, e.RequestID)
			data, previous = append(data, string(e.Data)), append(previous, string(e.Previous))
		}
	}
	b.Queue(insertEvents, feeds, counts, workspaces, behind, ats, types, requests, data, previous)
}
