package store

import (
	"context"
	"errors"

	"example.com/petstore/internal/petstore"
)

// DryRun implements [petstore.Bulk].
func (s *Store) DryRun(ctx context.Context, workspace int64, f func(petstore.Bulk) error) error {
	r := &dryRun{store: s, workspace: workspace, dialect: s.options.Dialect}
	r.dialect.Lock, r.dialect.LockKept, r.dialect.LockOpen = "", "", nil
	for kind := range r.kept {
		r.kept[kind] = idSet{}
	}
	var said error
	err := s.db.Snapshot(ctx, func(tx Tx) error {
		if err := CheckWorkspace(tx, workspace); err != nil {
			return err
		}
		r.tx = tx
		said = f(r)
		return said
	})
	if said != nil {
		return said
	}
	return err
}

// A dryRun is a snapshot of a workspace, and the ids that were loaded into it. The other
// methods of a Bulk have no use in it.
type dryRun struct {
	petstore.Bulk // nil

	store     *Store
	tx        Tx
	workspace int64
	dialect   Dialect // without locks
	kept      [petstore.RowKinds]idSet
	made      int64 // how many categories got an id here
}

// An idSet has a bit for each id, 64 to a word: most ids follow each other.
type idSet map[int64]uint64

func (s idSet) add(id int64) { s[id>>6] |= 1 << (id & 63) }

func (s idSet) has(id int64) bool { return s[id>>6]>>(id&63)&1 == 1 }

// Pets implements [petstore.Bulk].
func (r *dryRun) Pets(_ context.Context, _ int64, q petstore.PetQuery) ([]petstore.StockedPet, error) {
	return readPets(r.tx, &r.dialect, r.workspace, &q)
}

// Categories implements [petstore.Bulk].
func (r *dryRun) Categories(_ context.Context, _ int64, q petstore.CategoryQuery) ([]petstore.Category, error) {
	return categoryList(&r.store.options.Dialect, r.workspace, &q).read(r.tx)
}

// Load implements [petstore.Bulk].
func (r *dryRun) Load(_ context.Context, _ int64, b *petstore.Batch) ([]petstore.Refusal, error) {
	l := &Load{store: r.store, workspace: r.workspace, batch: b, existing: newFoundRows()}
	var queries Batch
	l.find(&queries, "")
	if err := r.tx.Run(&queries); err != nil {
		return nil, err
	}
	refused, err := b.Insert(func(kind petstore.RowKind, id int64) bool {
		return l.has(kind, id) || r.kept[kind].has(id)
	}, r.keep)
	if errors.Is(err, petstore.ErrRefused) {
		err = nil
	}
	return refused, err
}

// keep remembers the ids of a unit. A category without an id gets one that no other
// has.
func (r *dryRun) keep(u *petstore.Unit) error {
	if c := u.Category; c != nil {
		if c.ID == 0 {
			c.ID = petstore.MaxID - r.made
			r.made++
		}
		r.kept[petstore.CategoryRow].add(c.ID)
		return nil
	}
	if u.PetID == 0 {
		return nil
	}
	if u.Pet != nil {
		r.kept[petstore.PetRow].add(u.PetID)
	}
	for i := range u.Orders {
		r.kept[petstore.OrderRow].add(u.Orders[i].ID)
	}
	if len(u.Movements) > 0 {
		r.kept[petstore.LedgerRow].add(u.PetID)
	}
	return nil
}

// Amend implements [petstore.Bulk].
func (r *dryRun) Amend(_ context.Context, _ int64, changes []*petstore.Change, _ bool, _ string, _ int) ([]error, error) {
	g := r.store.amendment(changes)
	g.dialect = &r.dialect
	var b Batch
	g.Load(&b)
	if err := r.tx.Run(&b); err != nil {
		return nil, err
	}
	for _, c := range changes {
		if id := c.Needs.CategoryID; r.kept[petstore.CategoryRow].has(id) {
			g.categories[rowID{r.workspace, id}] = &loadedRow[petstore.Category]{row: petstore.Category{ID: id}}
		}
	}
	g.Decide(&b)
	return g.refusals(), nil
}
