package store

// A Dialect is what one engine says differently from the other. The zero value is a
// database that locks as a whole and searches names in the table of pets.
type Dialect struct {
	// Lock ends a statement that loads a row for a change. LockKept is for one to which
	// other rows may be made to refer meanwhile, LockNamed for one that must only stay.
	Lock, LockKept, LockNamed string

	// Among returns a condition for a column to have one of the ids, as the parameter $2,
	// and the argument for that.
	Among func(ids []int64) (condition string, arg any)

	// Enter adds statements that keep workspaces, which are in order, from being barred
	// until the end of the transaction. Their rows are the ids of those that are being
	// barred. It may be nil.
	Enter func(b *Batch, workspaces []int64, barred func(Row) error)

	// Rename adds what changes the folded name of a pet where names are searched, if that
	// is not the table of pets. A pet that is not there before, or after, has the name "".
	// It may be nil.
	Rename func(b *Batch, workspace, id int64, before, after string)

	// Ledgers returns the query of [LedgerColumns] of the ledgers of the pets in the
	// workspaces $1 to $2, in the order of the workspaces, the pets and, as it is "ASC"
	// or "DESC", the ids. Movements that are in no ledger may be among them.
	Ledgers func(order string) string

	// CheckStructure looks for damage of the tables and their indexes. CheckRows, which may
	// be nil, looks for rows that an index of the engine's own does not fit, and is not
	// called while a workspace is being removed.
	CheckStructure, CheckRows func(Tx, Report) error
}
