package postgres

import (
	"context"
	"fmt"

	"example.com/petstore/internal/store"
	"github.com/jackc/pgx/v5"
)

// Check looks for damage and returns what it found, in words, at most a hundred
// problems; none is good. It reads all workspaces, as they are at one moment: for
// each pet the movements must explain its stock and its open orders. Other
// calls go on beside it.
func (db *DB) Check(ctx context.Context) ([]string, error) {
	found := store.Problems{}
	err := db.inSnapshot(ctx, func(tx accessTx) error {
		if err := runChecks(tx, found.Report, checkSchema, checkReferences); err != nil {
			return err
		}
		if removing, err := store.CheckRemovals(tx, found.Report); err != nil || removing {
			return err
		}
		return runChecks(tx, found.Report, checkStock, store.CheckOrders, checkDeleted, store.CheckCounters)
	})
	return found, err
}

func runChecks(tx store.Tx, report store.Report, checks ...func(store.Tx, store.Report) error) error {
	for _, check := range checks {
		if err := check(tx, report); err != nil {
			return err
		}
	}
	return nil
}

// inSnapshot calls f with a transaction for reading that sees one instant. It has a
// connection of its own, without time-out.
func (db *DB) inSnapshot(ctx context.Context, f func(accessTx) error) error {
	c, err := connect(ctx, db.url, administering)
	if err != nil {
		return judge(err)
	}
	defer c.Close(context.WithoutCancel(ctx))
	options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	return judge(pgx.BeginTxFunc(ctx, c, options, func(tx pgx.Tx) error { return f(accessTx{ctx, tx}) }))
}

// eachRow calls f for every row of a query, with its numbers after its text.
func eachRow(tx store.Tx, query string, f func(text string, n []int64)) error {
	for row, err := range tx.Query(query) {
		if err != nil {
			return err
		}
		var (
			text string
			n    []int64
		)
		if err := row.Scan(&text, &n); err != nil {
			return err
		}
		f(text, n)
	}
	return nil
}

// checkSchema looks for indexes and constraints that do not hold.
func checkSchema(tx store.Tx, report store.Report) error {
	return eachRow(tx, `SELECT c.relname::text, '{}'::bigint[] FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
		WHERE c.relnamespace = 'petstore'::regnamespace AND NOT (i.indisvalid AND i.indisready)
		UNION ALL SELECT conname::text, '{}' FROM pg_constraint WHERE connamespace = 'petstore'::regnamespace AND NOT convalidated`,
		func(name string, _ []int64) { report("structure: %s is not valid", name) })
}

func checkReferences(tx store.Tx, report store.Report) error {
	return eachRow(tx, `SELECT '', ARRAY[workspace, id, category] FROM pets p
		WHERE NOT EXISTS (SELECT 1 FROM categories c WHERE c.workspace = p.workspace AND c.id = p.category)`,
		func(_ string, n []int64) {
			report("references: pet %d of workspace %d names the category %d, which does not exist", n[1], n[0], n[2])
		})
}

// checkStock holds each pet against its ledger.
func checkStock(tx store.Tx, report store.Report) error {
	return eachRow(tx, `SELECT '', ARRAY[p.workspace, p.id, p.quantity, p.open_orders, p.movements,
			coalesce(l.entries, 0), coalesce(l.last, 0), coalesce(l.total, 0)::bigint, coalesce(l.open, 0),
			coalesce((SELECT m.quantity FROM movements m WHERE m.workspace = p.workspace AND m.id = p.last_movement AND m.pet = p.id), 0),
			(SELECT count(*) FROM orders o WHERE o.workspace = p.workspace AND o.pet = p.id AND NOT o.complete)]
		FROM pets p LEFT JOIN (SELECT workspace, pet, count(*) AS entries, max(number) AS last, sum(delta) AS total,
				count(*) FILTER (WHERE kind = 'placed') - count(*) FILTER (WHERE kind IN ('completed', 'cancelled')) AS open
			FROM movements GROUP BY workspace, pet) l ON l.workspace = p.workspace AND l.pet = p.id`,
		func(_ string, n []int64) {
			pet := fmt.Sprintf("ledger: pet %d of workspace %d", n[1], n[0])
			compare := func(what string, have int64, source string, want int64) {
				if have != want {
					report("%s: %s is %d, and %s %d", pet, what, have, source, want)
				}
			}
			if n[2] < 0 {
				report("%s: the quantity is %d", pet, n[2])
			}
			compare("the quantity", n[2], "the sum of its movements is", n[7])
			compare("the quantity", n[2], "its last movement says", n[9])
			compare("the number of movements", n[4], "the ledger has", n[5])
			compare("the number of movements", n[4], "the last one is numbered", n[6])
			compare("the number of open orders", n[3], "the ledger says", n[8])
			compare("the number of open orders", n[3], "the orders say", n[10])
		})
}

// checkDeleted looks at the ledgers of pets that are gone.
func checkDeleted(tx store.Tx, report store.Report) error {
	return eachRow(tx, `SELECT '', ARRAY[workspace, pet, sum(delta)::bigint] FROM movements m
		WHERE NOT EXISTS (SELECT 1 FROM pets p WHERE p.workspace = m.workspace AND p.id = m.pet)
		GROUP BY workspace, pet HAVING sum(delta) <> 0`, func(_ string, n []int64) {
		report("ledger: pet %d of workspace %d is gone, and its movements leave %d", n[1], n[0], n[2])
	})
}
