package postgres

import (
	"context"
	"math"

	"example.com/petstore/internal/petstore"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	movementColumns = "pet, number, kind, order_id, delta, quantity, at" // as scanMovement reads them
	selectLedger    = "SELECT " + movementColumns + " FROM movements WHERE workspace = $1 AND pet = $2 AND number <= $3 ORDER BY number DESC LIMIT $4"
)

func scanMovement(row pgx.Row, m *petstore.Movement) error {
	var order *int64
	m.At.Valid = true
	err := row.Scan(&m.PetID, &m.Number, &m.Kind, &order, &m.Delta, &m.Quantity, &m.At.Millis)
	if order != nil {
		m.OrderID = *order
	}
	return err
}

// Movements implements [petstore.Store]. A place is the number of the movement there.
func (db *DB) Movements(ctx context.Context, workspace, petID, from int64, limit int) (page []petstore.Movement, next int64, err error) {
	if from == 0 {
		from = math.MaxInt64
	}
	err = db.read(ctx, func(c *pgxpool.Conn) error {
		page, err = collect(ctx, c, scanMovement, selectLedger, workspace, petID, from, limit)
		return err
	})
	switch {
	case err != nil:
		return nil, 0, err
	case len(page) == 0:
		return nil, 0, petstore.NoPet(petID)
	}
	return page, page[len(page)-1].Number - 1, nil
}

var movementTable = newTable("movements", "workspace, pet, number, delta, quantity, at, order_id, kind",
	func(workspace int64, m *petstore.Movement) []any {
		return []any{workspace, m.PetID, m.Number, m.Delta, m.Quantity, m.At.Millis, optional(m.OrderID, m.OrderID != 0), string(m.Kind)}
	})
