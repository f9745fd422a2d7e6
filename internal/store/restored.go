package store

import (
	"context"

	"example.com/petstore/internal/petstore"
)

// After a database came back from an earlier moment, ids go on at the next multiple of
// these: more than can have been issued since. Nobody is told of a second pet, order or
// event under an id that somebody knows.
const (
	idGap        = 1_000_000
	workspaceGap = 10_000
	eventGap     = 1 << 36
	stateGap     = 1 << 32
)

// Raised returns the next multiple of $1 behind a column, at least the one numbered $2.
func Raised(column string) string {
	return "CASE WHEN " + column + " / $1 < $2 THEN $2 ELSE " + column + " / $1 + 1 END * $1"
}

// Statements of Restored.
var (
	raiseCounters = "UPDATE counters SET pets = " + Raised("pets") + ", categories = " + Raised("categories") + ", orders = " + Raised("orders")
	raiseFeeds    = "UPDATE feeds SET last = " + Raised("last")
	raiseState    = "UPDATE access_state SET state = " + Raised("state")
	tellFeeds     = "INSERT INTO events (workspace, id, type, at, request, data, previous) SELECT workspace, last, CAST($1 AS text), CAST($2 AS bigint), '', '{}', '' FROM feeds"
)

// Restored makes all ids of a database that came back from an earlier moment go on behind
// a gap, and adds workspace.reset to every feed, so that readers read the lists again. The
// state of access goes on behind a gap too: it is none that a server knew. times is at least how often the database came back; if it is less, what was issued
// after an earlier return, and forgotten by this one, may be issued again. workspaceTimes is
// that of the ids of workspaces.
func Restored(tx Tx, d *Dialect, now petstore.Time, times, workspaceTimes int64) error {
	var b Batch
	b.Exec(raiseCounters, idGap, times)
	b.Exec("UPDATE feeds SET last = forgotten WHERE last < forgotten")
	b.Exec(raiseFeeds, eventGap, times)
	b.Exec(tellFeeds, string(petstore.WorkspaceReset), now.Millis)
	b.Exec(raiseState, stateGap, times)
	b.Exec(d.RaiseWorkspaces, workspaceGap, workspaceTimes)
	return tx.Run(&b)
}

// Issued are the last ids of a workspace.
type Issued struct {
	Workspace int64
	petstore.LastIDs
	Event int64
}

// Restored is [Restored] of a database that takes the place of another one, whose last ids
// are not issued again either.
func (s *Store) Restored(ctx context.Context, replaced []Issued) error {
	return s.db.Change(ctx, func(tx Tx) error {
		var b Batch
		times := int64(1)
		for _, last := range replaced {
			times = max(times, last.Workspace/workspaceGap+1)
			b.Exec("UPDATE counters SET pets = $1 WHERE workspace = $2 AND pets < $1", last.Pets, last.Workspace)
			b.Exec("UPDATE counters SET categories = $1 WHERE workspace = $2 AND categories < $1", last.Categories, last.Workspace)
			b.Exec("UPDATE counters SET orders = $1 WHERE workspace = $2 AND orders < $1", last.Orders, last.Workspace)
			b.Exec("UPDATE feeds SET last = $1 WHERE workspace = $2 AND last < $1", last.Event, last.Workspace)
		}
		if err := tx.Run(&b); err != nil {
			return err
		}
		return Restored(tx, &s.options.Dialect, petstore.At(s.now()), 1, times)
	})
}
