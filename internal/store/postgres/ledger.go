package postgres

import (
	"example.com/petstore/internal/petstore"
	"github.com/jackc/pgx/v5"
)

const movementColumns = "pet, number, kind, order_id, delta, quantity, at" // as scanMovement reads them

func scanMovement(row pgx.Row, m *petstore.Movement) error {
	var order *int64
	m.At.Valid = true
	err := row.Scan(&m.PetID, &m.Number, &m.Kind, &order, &m.Delta, &m.Quantity, &m.At.Millis)
	if order != nil {
		m.OrderID = *order
	}
	return err
}

// A storedMovement is a movement with its id, and that of the movement before it of the
// same pet.
type storedMovement struct {
	petstore.Movement
	id, before int64
}

var movementTable = newTable("movements", "workspace, id, before, pet, number, delta, quantity, at, order_id, kind",
	func(workspace int64, m *storedMovement) []any {
		return []any{workspace, m.id, m.before, m.PetID, m.Number, m.Delta, m.Quantity, m.At.Millis, optional(m.OrderID, m.OrderID != 0), string(m.Kind)}
	})
