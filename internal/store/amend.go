package store

import (
	"context"
	"errors"

	"example.com/petstore/internal/petstore"
)

// Amend implements [petstore.Bulk].
func (s *Store) Amend(ctx context.Context, workspace int64, changes []*petstore.Change, whole bool, file string, through int) ([]error, error) {
	g := s.amendment(changes)
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
	return g.refusals(), nil
}

// amendment returns the group of changes that nobody waits for one by one.
func (s *Store) amendment(changes []*petstore.Change) *Group {
	asked := make([]*change, len(changes))
	for i, c := range changes {
		asked[i] = &change{Change: c}
	}
	return s.group(asked)
}

// refusals returns the error of each change.
func (g *Group) refusals() []error {
	refused := make([]error, len(g.changes))
	for i, c := range g.changes {
		refused[i] = c.err
	}
	return refused
}
