package store

import (
	"cmp"
	"context"
	"errors"

	"example.com/petstore/internal/petstore"
)

// DryRun implements [petstore.Bulk].
func (s *Store) DryRun(ctx context.Context, workspace int64, f func(petstore.Bulk) error) error {
	r := &dryRun{store: s, workspace: workspace, dialect: s.dialect, taken: takenIDs{}}
	r.dialect.Lock = ""
	var said error
	err := s.db.Snapshot(ctx, func(tx Tx) error {
		if err := CheckShop(tx, workspace, ""); err != nil {
			return err
		}
		r.tx = tx
		said = f(r)
		return said
	})
	return cmp.Or(said, err) // that of f as it is
}

// A dryRun is a snapshot of a workspace, and the ids that were loaded into it. The other
// methods of a Bulk have no use in it.
type dryRun struct {
	petstore.Bulk // nil

	store     *Store
	tx        Tx
	workspace int64
	dialect   Dialect // without locks
	taken     takenIDs
	last      counters // with the ids that were issued here
}

// Pets implements [petstore.Bulk].
func (r *dryRun) Pets(_ context.Context, _ int64, q petstore.PetQuery) ([]petstore.StockedPet, error) {
	return readPets(r.tx, &r.dialect, r.workspace, &q)
}

// Categories implements [petstore.Bulk].
func (r *dryRun) Categories(_ context.Context, _ int64, q petstore.CategoryQuery) ([]petstore.Category, error) {
	return categoryList(&r.dialect, r.workspace, &q).read(r.tx)
}

// Load implements [petstore.Bulk].
func (r *dryRun) Load(_ context.Context, _ int64, b *petstore.Batch) ([]petstore.Refusal, error) {
	l := &load{Group: r.store.group(nil), shop: r.workspace, batch: b, last: r.last, taken: r.taken}
	l.dialect = &r.dialect
	err := l.insert(r.tx)
	r.last = l.in.last
	if err != nil && !errors.Is(err, petstore.ErrRefused) {
		return nil, err
	}
	return l.refused, nil
}
