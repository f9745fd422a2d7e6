package store

import (
	"context"
	"errors"

	"example.com/petstore/internal/petstore"
)

// Amend implements [petstore.Bulk].
func (s *Store) Amend(ctx context.Context, workspace int64, changes []*petstore.Change, whole bool, file string, through int) ([]error, error) {
	asked := make([]*change, len(changes))
	for i, c := range changes {
		asked[i] = &change{Change: c}
	}
	g := s.group(asked)
	g.whole = whole
	err := s.db.Step(ctx, workspace, func(tx Tx) error {
		if err := g.Run(tx); err != nil || file == "" {
			return err
		}
		return rememberImport(tx, workspace, file, through)
	})
	if err != nil && !errors.Is(err, petstore.ErrRefused) {
		return nil, err
	}
	if err == nil {
		g.notify()
	}
	refused := make([]error, len(changes))
	for i, c := range asked {
		refused[i] = c.err
		if c.panicked != nil {
			panic(c.panicked)
		}
	}
	return refused, nil
}
