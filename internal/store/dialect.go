package store

import "example.com/petstore/internal/petstore"

// A Dialect has what differs between the engines.
type Dialect struct {
	// Lock ends a statement that selects rows and locks them.
	Lock string

	// InList returns a condition for a column to have one of the ids, as the parameter $2,
	// and the argument for that.
	InList func(ids []int64) (condition string, arg any)

	// AddName adds the statement that adds the folded name of a new pet to a separate index of
	// names. It may be nil.
	AddName func(b *Batch, workspace, id int64, name string)

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

	// Ledgers selects [LedgerColumns] of the movements of the workspace $1, in the order
	// of the pets and the ids. It may also return movements that belong to no ledger.
	Ledgers string

	// RaiseWorkspaces is a statement that raises the id of the next workspace, as [Raised] says.
	RaiseWorkspaces string

	// NextWorkspace selects an id for a workspace that was never issued, and is not issued again.
	NextWorkspace string

	// Tidy does a part of what makes reads fast again after a large import, and reports whether
	// there is more to do.
	Tidy func(Tx) (more bool, err error)

	Size string // selects how many bytes the database has

	// CheckStructure looks for damage of the tables and their indexes. It may be nil.
	CheckStructure func(Tx, Report) error
}
