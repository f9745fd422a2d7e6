package postgres

import "example.com/petstore/internal/store"

// Keys of advisory locks. A transaction that takes accessLock does so before it locks the
// counters of workspaces.
const (
	migrationLock int64 = 0x5045_5453_0000_0001
	accessLock    int64 = 0x5045_5453_0000_0002
)

// dialect holds the SQL that differs from SQLite's.
var dialect = store.Dialect{
	Lock:   " FOR UPDATE",
	InList: func(ids []int64) (string, any) { return " = ANY ($2::bigint[])", ids },
	Tidy: func(tx store.Tx) (bool, error) { // autovacuum does so only a minute later; until then reads keep plans for small tables
		_, err := tx.Exec("ANALYZE categories, pets, orders, movements")
		return false, err
	},

	Arrays:    true,
	Contains:  "strpos(folded, ?) > 0",
	LowStock:  "low_stock <= ?",
	Hint:      func(string) string { return "" },
	SortParts: true,
	Search:    searchNames,

	// The server sorts all movements. To read the ledgers one pet after the other takes four
	// times as long.
	Ledgers: "SELECT " + store.LedgerColumns + " FROM movements WHERE workspace = $1 ORDER BY pet, id",
	RaiseWorkspaces: "SELECT setval(s, " + store.Raised("coalesce(pg_sequence_last_value(s), 0)") + ")" +
		" FROM (SELECT pg_get_serial_sequence('workspaces', 'id')::regclass AS s) AS sequence",
	NextWorkspace: "SELECT nextval(pg_get_serial_sequence('workspaces', 'id'))",
	Size:          "SELECT pg_database_size(current_database())",
}
