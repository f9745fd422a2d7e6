package sqlite

import (
	"context"

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

// Order implements [petstore.Store].
func (db *DB) Order(ctx context.Context, workspace, id int64) (petstore.Order, error) {
	return get(ctx, db, selectOrder, workspace, id, scanOrder, petstore.NoOrder)
}

// Orders implements [petstore.Store].
func (db *DB) Orders(ctx context.Context, workspace int64, q petstore.OrderQuery) (found []petstore.Order, err error) {
	return orderList(workspace, q).read(ctx, db)
}

func orderList(workspace int64, q petstore.OrderQuery) *list[petstore.Order] {
	l := &list[petstore.Order]{columns: orderColumns, table: "orders", workspace: workspace, page: q.Page, scan: scanOrder}
	either := []filter{{byComplete, false}, {byComplete, true}} // each index has complete before the id
	if q.Complete != nil {
		l.index, l.lanes, either = "orders_by_complete", []filter{{byComplete, *q.Complete}}, []filter{{byComplete, *q.Complete}}
	}
	if q.PetID != 0 {
		l.index, l.lanes, l.equal = "orders_by_pet", either, []filter{{byPet, q.PetID}}
	}
	if q.ShipDateFrom.Valid {
		l.tests = append(l.tests, filter{shipsFrom, q.ShipDateFrom.Millis})
	}
	if q.ShipDateTo.Valid {
		l.tests = append(l.tests, filter{shipsTo, q.ShipDateTo.Millis})
	}
	if q.PetID == 0 && len(l.tests) > 0 {
		l.rest = l.byValue("orders_by_ship_date", either)
	}
	return l
}
