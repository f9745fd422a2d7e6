package postgres

import (
	"context"

	"example.com/petstore/internal/store"
)

// Load writes a batch. Other nodes go on writing meanwhile: its ids are issued in a
// transaction of their own, and it locks only the categories that it refers to. After a
// large import it has the planner's statistics gathered. Autovacuum does so only a minute
// later, and until then reads would keep plans that were made for small tables.
func (a engine) Load(ctx context.Context, l *store.Load) error {
	err := a.db.change(ctx, func(tx sqlTx) error {
		var ids store.Batch
		l.Issue(&ids)
		if err := (sqlTx{ctx, a.db.issuers}).Run(&ids); err != nil {
			return err
		}
		return l.Keep(tx)
	})
	if err != nil || l.Imported() < largeImport {
		return err
	}
	if _, err := a.db.writer.Exec(ctx, gatherStatistics); err != nil {
		a.db.log.Warn("statistics were not gathered after an import", "database", a.db.name, "err", err)
	}
	return nil
}

// largeImport is after how many rows statistics are gathered.
const largeImport = 10_000

const gatherStatistics = "ANALYZE categories, pets, orders, movements"
