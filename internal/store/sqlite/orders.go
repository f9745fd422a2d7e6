package sqlite

import (
	"example.com/petstore/internal/petstore"
	"zombiezen.com/go/sqlite"
)

const (
	orderColumns = "id, pet, quantity, ship_date, complete" // as scanOrder reads them
	selectOrder  = "SELECT " + orderColumns + " FROM orders WHERE workspace=?1 AND id=?2"
)

func scanOrder(row *sqlite.Stmt) petstore.Order {
	return petstore.Order{ID: row.ColumnInt64(0), PetID: row.ColumnInt64(1), Quantity: row.ColumnInt64(2),
		ShipDate: scanTime(row, 3), Complete: row.ColumnBool(4)}
}
