package postgres

import "example.com/petstore/internal/store"

// Keys of advisory locks. A workspace's key is workspaceLocks plus its id.
const (
	migrationLock  int64 = 0x5045_5453_0000_0001
	accessLock     int64 = 0x5045_5453_0000_0002
	workspaceLocks int64 = 0x50 << 56
)

// dialect holds the SQL that differs from SQLite's.
var dialect = store.Dialect{
	Lock:      " ORDER BY id FOR UPDATE",        // waits for those who refer to the row
	LockKept:  " ORDER BY id FOR NO KEY UPDATE", // lets bulk loads refer to the row, but nobody change it
	LockNamed: " ORDER BY id FOR KEY SHARE",
	Among:     func(ids []int64) (string, any) { return " = ANY ($2::bigint[])", ids },
	LockOpen:  lockOpen,

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
}

// lockWorkspaces locks workspaces without waiting, and returns those that it cannot
// lock because they are being closed to writes. A later statement reads those that are
// closed already.
const lockWorkspaces = "SELECT w FROM unnest($1::bigint[]) w WHERE NOT pg_try_advisory_xact_lock_shared(w + $2)"

func lockOpen(b *store.Batch, workspaces []int64, closing func(store.Row) error) {
	b.Query(closing, lockWorkspaces, workspaces, workspaceLocks)
}
