package postgres

import (
	"context"
	"errors"
	"time"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store"
)

// Load keeps a batch. Nodes go on beside it: its ids come in a transaction of their own,
// and it locks nothing of theirs but the categories that it refers to. A commit whose
// answer was lost is looked up.
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

// settleTimeout is how long a server that was lost at a commit is waited for.
const settleTimeout = 5 * time.Second

// committed reports whether the transaction is known to have been committed,
// though err came back: the server keeps its outcome.
func (db *DB) committed(ctx context.Context, xid string, err error) bool {
	unknown := petstore.CodeOf(err) == petstore.CodeServiceUnavailable && !errors.Is(err, errUnconfirmed)
	if !unknown || xid == "" || ctx.Err() != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
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
