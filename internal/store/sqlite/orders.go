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

const (
	insertOrder = "INSERT INTO orders (workspace, id, pet, quantity, complete, ship_date) VALUES (?1, ?2, ?3, ?4, ?5, ?6)"
	updateOrder = "UPDATE orders SET pet=?3, quantity=?4, complete=?5, ship_date=?6 WHERE workspace=?1 AND id=?2"
)

func (c *conn) saveOrder(workspace int64, o *petstore.Order) (err error) {
	if o.ID != 0 {
		return c.writeOrder(updateOrder, workspace, o)
	}
	if o.ID, err = c.nextID(workspace, orderID); err != nil {
		return err
	}
	return c.writeOrder(insertOrder, workspace, o)
}

func (c *conn) writeOrder(query string, workspace int64, o *petstore.Order) error {
	stmt, err := c.ints(query, workspace, o.ID, o.PetID, o.Quantity)
	if err != nil {
		return err
	}
	stmt.BindBool(5, o.Complete)
	if o.ShipDate.Valid {
		stmt.BindInt64(6, o.ShipDate.Millis)
	}
	_, err = stmt.Step()
	return err
}
