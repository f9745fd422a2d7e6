package postgres

import (
	"context"

	"example.com/petstore/internal/store"
)

// Load keeps a batch. Nodes go on beside it: its ids come in a transaction of their own,
// and it locks nothing of theirs but the categories that it refers to.
func (a engine) Load(ctx context.Context, l *store.Load) error {
	err := a.db.change(ctx, func(tx sqlTx) error {
		var ids store.Batch
		l.Issue(&ids)
		if err := (sqlTx{ctx, a.db.issuers}).Run(&ids); err != nil {
			return err
		}
		return l.Keep(tx)
	})
	if err == nil {
		a.db.analyze(ctx, int64(l.Len()))
	}
	return err
}

const gatherStatistics = "ANALYZE categories, pets, orders, movements"

// analyze gathers the planner's statistics each time that ten times as much was loaded,
// after so many units. A minute later autovacuum does; until then reads would keep plans
// that were made for small tables.
func (db *DB) analyze(ctx context.Context, units int64) {
	loaded := db.loaded.Add(units)
	for enough := int64(10_000); enough <= loaded; enough *= 10 {
		if loaded-units < enough {
			if _, err := db.writer.Exec(ctx, gatherStatistics); err != nil {
				db.log.Warn("statistics were not gathered after a load", "database", db.name, "err", err)
			}
		}
	}
}
