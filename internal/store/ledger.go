package store

import (
	"context"

	"example.com/petstore/internal/petstore"
)

// LedgerColumns are what [Dialect.Ledgers] selects, as scanMovement reads them.
const LedgerColumns = "pet, number, kind, order_id, delta, quantity, at, by_key"

// selectLedger selects the movements of the pet $2, the newest first, each with the id of
// the one before it. They begin at the movement with the id $3, or at the last one for 0.
const selectLedger = `WITH RECURSIVE ledger AS (
		SELECT * FROM movements WHERE workspace = $1 AND pet = $2 AND id = coalesce(nullif(CAST($3 AS bigint), 0),
			(SELECT last_movement FROM pets WHERE workspace = $1 AND id = $2),
			(SELECT id FROM movements WHERE workspace = $1 AND pet = $2 AND kind = 'deleted'))
		UNION ALL
		SELECT m.* FROM ledger l JOIN movements m ON m.workspace = l.workspace AND m.id = l.before AND m.pet = l.pet AND m.id < l.id)
	SELECT ` + LedgerColumns + `, before FROM ledger`

// Movements implements [petstore.Store]. A place is the id of the movement there.
func (s *Store) Movements(ctx context.Context, workspace, petID, from int64, limit int) (page []petstore.Movement, next int64, err error) {
	page, err = readRows(ctx, s, func(row Row, m *petstore.Movement) error { return scanMovement(row, m, &next) },
		selectLedger+" LIMIT $4", workspace, petID, from, limit)
	switch {
	case err != nil:
		return nil, 0, err
	case len(page) == 0:
		return nil, 0, petstore.NoPet(petID)
	}
	return page, next, nil
}

// OrderMovements implements [petstore.Store].
func (s *Store) OrderMovements(ctx context.Context, workspace int64, orders []int64) ([]petstore.Movement, error) {
	of, ids := s.dialect.InList(orders)
	return read(ctx, s, func(tx Tx) (all []petstore.Movement, err error) {
		for _, from := range []string{
			" WHERE workspace = $1 AND id IN (SELECT placed FROM orders WHERE workspace = $1 AND id" + of + ") ORDER BY id",
			s.dialect.Hint("movements_ended") + " WHERE workspace = $1 AND order_id" + of + " AND (kind = 'completed' OR kind = 'cancelled') ORDER BY order_id",
		} {
			some, err := RowsOf(tx, func(row Row, m *petstore.Movement) error { return scanMovement(row, m) },
				"SELECT "+LedgerColumns+" FROM movements"+from, workspace, ids)
			if err != nil {
				return nil, err
			}
			all = append(all, some...)
		}
		return all, nil
	})
}

// A storedMovement is a movement with its id, and that of the movement before it of the
// same pet, 0 for the first.
type storedMovement struct {
	petstore.Movement
	id, before int64
}

// scanMovement reads a movement, and the columns after it into those given.
func scanMovement(row Row, m *petstore.Movement, after ...any) error {
	var (
		kind  string
		order *int64
	)
	m.At.Valid = true
	err := row.Scan(append([]any{&m.PetID, &m.Number, &kind, &order, &m.Delta, &m.Quantity, &m.At.Millis, &m.By}, after...)...)
	m.Kind = petstore.MovementKind(kind)
	if order != nil {
		m.OrderID = *order
	}
	return err
}
