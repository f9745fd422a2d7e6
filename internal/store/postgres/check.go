package postgres

import "example.com/petstore/internal/store"

// ledgers has the server sort all movements. To read the ledgers one pet after the other
// takes four times as long.
const ledgers = "SELECT " + store.LedgerColumns + " FROM movements WHERE workspace = $1 ORDER BY pet, id"

// checkSchema reports indexes and constraints that are not valid.
func checkSchema(tx store.Tx, report store.Report) error {
	var b store.Batch
	b.Query(func(row store.Row) error {
		var name string
		err := row.Scan(&name)
		report("structure: %s is not valid", name)
		return err
	}, `SELECT c.relname::text FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
		WHERE c.relnamespace = 'petstore'::regnamespace AND NOT (i.indisvalid AND i.indisready)
		UNION ALL SELECT conname::text FROM pg_constraint WHERE connamespace = 'petstore'::regnamespace AND NOT convalidated`)
	return tx.Run(&b)
}
