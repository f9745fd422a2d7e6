package postgres

import (
	"context"

	"example.com/petstore/internal/store"
	"github.com/jackc/pgx/v5"
)

// Snapshot has a connection of its own, without time-out. Its statements find rows by
// key, in pages: for each page the planner would rather read the whole table.
func (a accessDB) Snapshot(ctx context.Context, f func(store.Tx) error) error {
	c, err := connect(ctx, a.db.url, administering)
	if err != nil {
		return judge(err)
	}
	defer c.Close(context.WithoutCancel(ctx))
	options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	return judge(pgx.BeginTxFunc(ctx, c, options, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "SET LOCAL enable_seqscan = off; SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off; SET LOCAL jit = off")
		if err != nil {
			return err
		}
		return f(accessTx{ctx, tx})
	}))
}

// checkSchema looks for indexes and constraints that do not hold.
func checkSchema(tx store.Tx, report store.Report) error {
	for row, err := range tx.Query(`SELECT c.relname::text FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
		WHERE c.relnamespace = 'petstore'::regnamespace AND NOT (i.indisvalid AND i.indisready)
		UNION ALL SELECT conname::text FROM pg_constraint WHERE connamespace = 'petstore'::regnamespace AND NOT convalidated`) {
		var name string
		if err == nil {
			err = row.Scan(&name)
		}
		if err != nil {
			return err
		}
		report("structure: %s is not valid", name)
	}
	return nil
}
