package store

import (
	"cmp"
	"context"
	"errors"

	"example.com/petstore/internal/petstore"
)

// DryRun implements [petstore.Bulk].
func (s *Store) DryRun(ctx context.Context, workspace int64, f func(petstore.Bulk) error) error {
	dialect := s.dialect
	dialect.Lock = ""
	var said error
	err := s.db.Snapshot(ctx, func(tx Tx) error {
		if err := CheckShop(tx, workspace, ""); err != nil {
			return err
		}
		reads := New(txDB{tx: tx}, dialect, OpenOptions{Now: s.now, NoEvents: s.noEvents}, nil)
		said = f(&dryRun{Store: reads, tx: tx, taken: takenIDs{}})
		return said
	})
	return cmp.Or(said, err) // that of f as it is
}

// A txDB is a transaction that is read as a DB.
type txDB struct {
	DB // nil
	tx Tx
}

func (d txDB) Read(_ context.Context, f func(Tx) error) error { return f(d.tx) }

// A dryRun is a snapshot of a workspace, and the ids that were loaded into it.
type dryRun struct {
	*Store // without locks

	tx    Tx
	taken takenIDs
	last  counters // with the ids that were issued here
}

// Load implements [petstore.Bulk].
func (r *dryRun) Load(_ context.Context, workspace int64, b *petstore.Batch) ([]petstore.Refusal, error) {
	l := &load{Group: r.group(nil), shop: workspace, batch: b, last: r.last, taken: r.taken}
	err := l.insert(r.tx)
	r.last = l.in.last
	if err != nil && !errors.Is(err, petstore.ErrRefused) {
		return nil, err
	}
	return l.refused, nil
}
