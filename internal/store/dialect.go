package store

import "example.com/petstore/internal/petstore"

// A Dialect is what one engine says differently from the other.
type Dialect struct {
	// Lock ends a statement that loads rows for a change, in the order of their ids. LockKept
	// is for rows to which others may be made to refer meanwhile, LockNamed for those that
	// must only stay.
	Lock, LockKept, LockNamed string

	// Among returns a condition for a column to have one of the ids, as the parameter $2,
	// and the argument for that.
	Among func(ids []int64) (condition string, arg any)

	// Enter adds statements that keep workspaces, which are in order, from being closed to writes
	// until the end of the transaction. Their rows are the ids of those that are being
	// closed. It may be nil.
	Enter func(b *Batch, workspaces []int64, barred func(Row) error)

	// Rename adds what changes the folded name of a pet where names are searched, if that
	// is not the table of pets. A pet that is not there before, or after, has the name "".
	// It may be nil.
	Rename func(b *Batch, workspace, id int64, before, after string)

	// RemoveNames is a statement that comes before pets are removed: those of the workspace
	// $1 that "SELECT id FROM pets WHERE workspace = $1 LIMIT $2" finds. It may be "".
	RemoveNames string

	// Arrays is whether a statement may have arrays of values, as []any, for many rows.
	Arrays bool

	Contains string                    // the condition that the column folded contains the text ?
	LowStock string                    // the condition that a pet has at most ? units, of those in the index of low stock
	Hint     func(index string) string // follows the name of a table to have an index used

	// SortParts is whether the parts of a UNION ALL must be sorted and limited to be merged.
	SortParts bool

	// Search says how the pets of a page are found by an index of their names, in a workspace
	// whose last pet has an id. It may find others, too. It returns nil if all names must be tested.
	Search func(workspace int64, p petstore.Page, last int64, text string) *Search

	// Ledgers is the query of [LedgerColumns] of the ledgers of the pets in the workspace
	// $1, in the order of the pets and the ids. Movements that are in no ledger may be
	// among them.
	Ledgers string

	// RaiseWorkspaces is a statement that raises the id of the next workspace, as [Raised] says.
	RaiseWorkspaces string

	// NextWorkspace selects an id for a workspace that was never issued, and is not issued again.
	NextWorkspace string

	// CheckStructure looks for damage of the tables and their indexes. CheckRows, which may
	// be nil, looks for rows that an index of the engine's own does not fit, and is not
	// called while a workspace is being removed.
	CheckStructure, CheckRows func(Tx, Report) error
}
