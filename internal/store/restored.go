package store

import (
	"context"

	"example.com/petstore/internal/petstore"
)

// After a database was restored to an earlier state, its ids continue at the next
// multiple of these numbers, which is more than can have been issued since that state.
// So no id that a client knows is issued again for another pet, order or event.
const (
	idGap        = 1_000_000
	workspaceGap = 10_000
	eventGap     = 1 << 36
	stateGap     = 1 << 32
)

// Raised returns an SQL expression for the next multiple of $1 above a column, at least
// $2 times $1.
func Raised(column string) string {
	return "CASE WHEN " + column + " / $1 < $2 THEN $2 ELSE " + column + " / $1 + 1 END * $1"
}

// tellReset adds workspace.reset at the instant $1 to feeds, as the event with the last id.
const tellReset = `INSERT INTO events (workspace, id, type, at, request, data, previous)
	SELECT workspace, events, 'workspace.reset', CAST($1 AS bigint), '', '{}', '' FROM counters`

// Restored raises the ids of a database that was restored to an earlier state above all that may
// have been issued since, and adds workspace.reset to every feed, so that readers read the lists
// again. It also raises the state of access to one that no server has seen. times must be at least
// how often the database was restored. If it is less, ids that were issued between two restores may
// be issued again.
// workspaceTimes is that of the ids of workspaces.
func Restored(tx Tx, d *Dialect, now petstore.Time, times, workspaceTimes int64) error {
	var b Batch
	lockAll(&b, d)
	b.Exec("UPDATE counters SET pets = "+Raised("pets")+", categories = "+Raised("categories")+", orders = "+Raised("orders"), idGap, times)
	b.Exec("UPDATE counters SET events = forgotten WHERE events < forgotten")
	b.Exec("UPDATE counters SET events = "+Raised("events"), eventGap, times)
	b.Exec(tellReset, now.Millis)
	b.Exec("UPDATE access_state SET state = "+Raised("state"), stateGap, times)
	b.Exec(d.RaiseWorkspaces, workspaceGap, workspaceTimes)
	return tx.Run(&b)
}

// Issued are the last ids of a workspace.
type Issued struct {
	Workspace, Shop int64
	petstore.LastIDs
	Event int64
}

// Restored is [Restored] for a database that replaces another one. It also raises the ids
// above the last ones of the replaced database.
func (s *Store) Restored(ctx context.Context, replaced []Issued) error {
	return s.db.Change(ctx, func(tx Tx) error {
		var b Batch
		times := int64(1)
		for _, last := range replaced {
			times = max(times, max(last.Workspace, last.Shop)/workspaceGap+1)
			for column, id := range map[string]int64{"pets": last.Pets, "categories": last.Categories, "orders": last.Orders, "events": last.Event} {
				b.Exec("UPDATE counters SET "+column+" = $1 WHERE workspace = (SELECT coalesce(shop, id) FROM workspaces WHERE id = $2) AND "+column+" < $1", id, last.Workspace)
			}
		}
		if err := tx.Run(&b); err != nil {
			return err
		}
		return Restored(tx, &s.dialect, petstore.At(s.now()), 1, times)
	})
}

// lockAll adds the statement that locks the counters of all workspaces, in their order.
func lockAll(b *Batch, d *Dialect) {
	b.Query(nil, "SELECT 1 FROM counters ORDER BY workspace"+d.Lock)
}
