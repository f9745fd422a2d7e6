package store

import (
	"context"
	"errors"

	"example.com/petstore/internal/petstore"
)

// DryRun implements [petstore.Bulk].
func (s *Store) DryRun(ctx context.Context, workspace int64, f func(petstore.Bulk) error) error {
	r := &dryRun{store: s, workspace: workspace, dialect: s.options.Dialect}
	r.dialect.Lock = ""
	for kind := range r.kept {
		r.kept[kind] = idSet{}
	}
	var said error
	err := s.db.Snapshot(ctx, func(tx Tx) error {
		if err := CheckShop(tx, workspace, ""); err != nil {
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
	l := &load{store: r.store, workspace: r.workspace, batch: b, existing: newFoundRows(), group: r.store.group(nil)}
	l.group.dialect = &r.dialect
	l.group.begin()
	l.in = l.group.workspace(r.workspace)
	var queries Batch
	l.find(&queries)
	if err := r.tx.Run(&queries); err != nil {
		return nil, err
	}
	refused, err := b.Insert(func(kind petstore.RowKind, id int64) bool {
		return l.has(kind, id) || r.kept[kind].has(id)
	}, func(u *petstore.Unit) error {
		if u.Change != nil {
			return r.change(l, u.Change)
		}
		return r.keep(u)
	})
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

// change decides a change, which may move a pet to a category that was loaded before.
func (r *dryRun) change(l *load, c *petstore.Change) error {
	if id := c.Needs.CategoryID; r.kept[petstore.CategoryRow].has(id) {
		l.group.categories[rowID{r.workspace, id}] = &loadedRow[petstore.Category]{row: petstore.Category{ID: id}}
	}
	return l.change(c)
}
