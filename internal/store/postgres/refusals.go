package postgres

import (
	"maps"
	"slices"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store"
	"github.com/jackc/pgx/v5"
)

// A set is a set of ids.
type set map[int64]bool

func (s set) sorted() []int64 { return slices.Sorted(maps.Keys(s)) }

// found are the ids, of those that a batch names, that the store has; and then
// those of the batch's own rows.
type found [petstore.RowKinds]set

func newFound() (f found) {
	for kind := range f {
		f[kind] = set{}
	}
	return f
}

// What a load asks of the ids that its batch names. The categories are locked
// against being deleted.
var findRows = [petstore.RowKinds]string{
	petstore.CategoryRow: "SELECT id FROM categories WHERE workspace = $1 AND id = ANY ($2::bigint[]) ORDER BY id FOR KEY SHARE",
	petstore.PetRow:      "SELECT id FROM pets WHERE workspace = $1 AND id = ANY ($2::bigint[])",
	petstore.OrderRow:    "SELECT id FROM orders WHERE workspace = $1 AND id = ANY ($2::bigint[])",
	petstore.LedgerRow:   "SELECT pet FROM movements WHERE workspace = $1 AND pet = ANY ($2::bigint[]) AND kind = 'deleted'", // that of a pet which is there comes with the pet
}

// loadExisting finds out which ids are there already, in one round trip.
func (l *load) loadExisting(x *txn) error {
	b := new(pgx.Batch)
	barred := map[int64]bool{}
	queueBarred(b, []int64{l.workspace}, barred)
	exists := false
	b.Queue("SELECT EXISTS (SELECT 1 FROM workspaces WHERE id = $1)", l.workspace).QueryRow(func(row pgx.Row) error {
		return row.Scan(&exists)
	})
	for kind, named := range l.named() {
		if len(named) == 0 {
			continue
		}
		b.Queue(findRows[kind], l.workspace, named.sorted()).Query(each(func(row pgx.Rows) error {
			var id int64
			err := row.Scan(&id)
			l.existing[kind][id] = true
			return err
		}))
	}
	err := x.SendBatch(x.ctx, b).Close()
	switch {
	case err != nil:
		return err
	case !exists:
		return store.NoWorkspace(l.workspace)
	case barred[l.workspace]:
		return access.Resetting()
	}
	return nil
}

// named returns the ids that the batch brings along or refers to.
func (l *load) named() found {
	n := newFound()
	for i := range l.batch.Units {
		u := &l.batch.Units[i]
		switch {
		case u.Category != nil:
			n[petstore.CategoryRow][u.Category.ID] = true
			continue
		case u.Pet != nil && u.In != nil:
			n[petstore.CategoryRow][u.In.ID] = true
		case u.Pet != nil:
			n[petstore.CategoryRow][u.Pet.CategoryID] = true
		}
		n[petstore.PetRow][u.PetID] = true
		n[petstore.LedgerRow][u.PetID] = true
		for _, o := range u.Orders {
			n[petstore.OrderRow][o.ID] = true
		}
	}
	for _, ids := range n {
		delete(ids, 0) // of rows that get one
	}
	return n
}

func (l *load) has(kind petstore.RowKind, id int64) (bool, error) { return l.existing[kind][id], nil }
