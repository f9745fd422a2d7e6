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
