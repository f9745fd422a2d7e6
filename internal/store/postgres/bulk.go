package postgres

import (
	"context"
	"errors"
	"time"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store"
)

// Load writes a batch. Other nodes go on writing meanwhile: its ids are issued in a
// transaction of their own, and it locks only the categories that it refers to. If the
// answer to its commit is lost, Load asks the server whether it was committed.
func (a engine) Load(ctx context.Context, l *store.Load) error {
	xid := "" // of the transaction whose outcome counts
	err := a.db.change(ctx, func(tx sqlTx) error {
		xid = ""
		var ids store.Batch
		l.Issue(&ids)
		if err := (sqlTx{ctx, a.db.issuers}).Run(&ids); err != nil {
			return err
		}
		if err := l.Keep(tx); err != nil {
			return err
		}
		return tx.QueryRow(ctx, "SELECT pg_current_xact_id()::text").Scan(&xid)
	})
	if err == nil || a.db.committed(ctx, xid, err) {
		a.db.analyze(ctx, int64(l.Len()))
		return nil
	}
	return err
}

const gatherStatistics = "ANALYZE categories, pets, orders, movements"

// analyze adds to the number of units that were loaded, and has the planner's statistics
// gathered when that passes 10,000, 100,000 and so on. Autovacuum gathers them only a
// minute later; until then reads would keep plans that were made for small tables.
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

// outcomeTimeout is how long committed waits for a server whose connection was lost
// during a commit.
const outcomeTimeout = 5 * time.Second

// committed asks the server whether a transaction was committed whose commit returned
// err. It reports false if that cannot be known.
func (db *DB) committed(ctx context.Context, xid string, err error) bool {
	unknown := petstore.CodeOf(err) == petstore.CodeServiceUnavailable && !errors.Is(err, errUnconfirmed)
	if !unknown || xid == "" || ctx.Err() != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, outcomeTimeout)
	defer cancel()
	for n := 0; ; n++ {
		var outcome *string
		err := db.writer.QueryRow(ctx, "SELECT pg_xact_status($1::text::xid8)", xid).Scan(&outcome)
		if err == nil && outcome != nil && *outcome != "in progress" {
			return *outcome == "committed"
		}
		if err != nil && !lost(err) || pause(ctx, min(n, 4)) != nil {
			return false
		}
	}
}
