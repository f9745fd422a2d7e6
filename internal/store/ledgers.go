package store

import (
	"iter"
	"math"

	"example.com/petstore/internal/petstore"
)

// Whole databases are read by queries whose rows come in the order of the pets, side by
// side.

// noPet is behind all pets.
var noPet = rowID{math.MaxInt64, math.MaxInt64}

// A stream is rows in the order of the pets that they are of.
type stream[T any] struct {
	at  rowID // of row; noPet at the end
	row T

	next func() (Row, error, bool)
	scan func(Row, *T) (rowID, error)
	stop func()
}

// open begins to read a query. The stream is to be closed, after an error too.
func open[T any](tx Tx, scan func(Row, *T) (rowID, error), query string, args ...any) (*stream[T], error) {
	s := &stream[T]{scan: scan}
	s.next, s.stop = iter.Pull2(tx.Query(query, args...))
	return s, s.advance()
}

// advance goes to the next row.
func (s *stream[T]) advance() error {
	row, err, there := s.next()
	switch {
	case err != nil:
		return err
	case !there:
		s.at = noPet
		return nil
	}
	var value T
	s.at, err = s.scan(row, &value)
	s.row = value
	return err
}

// close ends the reading. A nil stream has not begun it.
func (s *stream[T]) close() {
	if s != nil {
		s.stop()
	}
}

// of gives the rows of a pet to take.
func (s *stream[T]) of(pet rowID, take func(*T) error) error {
	for s.at == pet {
		if err := take(&s.row); err != nil {
			return err
		}
		if err := s.advance(); err != nil {
			return err
		}
	}
	return nil
}

const (
	streamedPets   = "SELECT workspace, " + storedColumns + " FROM pets WHERE workspace >= $1 AND workspace <= $2 ORDER BY workspace, id"
	streamedOrders = "SELECT workspace, " + orderColumns + " FROM orders WHERE workspace >= $1 AND workspace <= $2 ORDER BY workspace, pet, complete, id"

	// LedgerColumns are what [Dialect.Ledgers] selects.
	LedgerColumns = movementColumns + ", before, id, workspace"
)

// openPets gives the pets of the workspaces from one to another.
func openPets(tx Tx, first, last int64) (*stream[storedPet], error) {
	return open(tx, func(row Row, p *storedPet) (rowID, error) {
		var workspace int64
		err := scanStored(before{row, []any{&workspace}}, p)
		return rowID{workspace, p.ID}, err
	}, streamedPets, first, last)
}

// openLedgers gives the ledgers of the pets of the workspaces from one to another, as the
// engine selects them.
func openLedgers(tx Tx, query string, first, last int64) (*stream[storedMovement], error) {
	return open(tx, func(row Row, m *storedMovement) (rowID, error) {
		var workspace int64
		err := scanMovement(row, &m.Movement, &m.before, &m.id, &workspace)
		return rowID{workspace, m.PetID}, err
	}, query, first, last)
}

func openOrders(tx Tx, first, last int64) (*stream[petstore.Order], error) {
	return open(tx, func(row Row, o *petstore.Order) (rowID, error) {
		var workspace int64
		err := scanOrder(before{row, []any{&workspace}}, o)
		return rowID{workspace, o.PetID}, err
	}, streamedOrders, first, last)
}

// before is a row that has other columns before those that are scanned.
type before struct {
	Row
	columns []any
}

// Scan implements [Row].
func (b before) Scan(columns ...any) error { return b.Row.Scan(append(b.columns, columns...)...) }
