package postgres

import (
	"example.com/petstore/internal/petstore"
	"github.com/jackc/pgx/v5"
)

const orderColumns = "id, pet, quantity, ship_date, complete" // as scanOrder reads them

// scanOrder reads an order, and the columns before it into those given.
func scanOrder(row pgx.Row, o *petstore.Order, before ...any) error {
	var shipDate *int64
	err := row.Scan(append(before, &o.ID, &o.PetID, &o.Quantity, &shipDate, &o.Complete)...)
	if shipDate != nil {
		o.ShipDate = petstore.Time{Millis: *shipDate, Valid: true}
	}
	return err
}

func scanOnlyOrder(row pgx.Row, o *petstore.Order) error { return scanOrder(row, o) }
