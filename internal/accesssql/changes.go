package accesssql

import (
	"context"

	"example.com/petstore/internal/access"
)

// Changes implements [access.Store]. A call when nothing changed is one look-up
// of one row.
//
// The state is read first: what changes while the rows are read is told by the
// next call once more. A reader ahead of the state knew a database that was since
// restored from a backup.
func (s *Store) Changes(ctx context.Context, since int64) (changes access.Changes, err error) {
	err = s.db.Read(ctx, func(tx Tx) error {
		var floor int64
		changes = access.Changes{}
		_, err := one(tx, "SELECT state, floor FROM access_state", func(row Row) error { return row.Scan(&changes.State, &floor) })
		if err != nil || changes.State == since {
			return err
		}
		after, live := since, ""
		if changes.All = since < floor || since > changes.State; changes.All {
			after, live = 0, " AND k.revoked_at IS NULL"
		}
		if changes.Workspaces, err = workspaces(tx, "state > $1", after); err != nil {
			return err
		}
		changes.Keys, err = keys(tx, "k.state > $1"+live, after)
		return err
	})
	return changes, err
}
