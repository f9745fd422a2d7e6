package store

import (
	"context"
	"math"

	"example.com/petstore/internal/petstore"
)

const (
	orderColumns = "id, pet, quantity, ship_date, complete"
	selectOrder  = "SELECT " + orderColumns + " FROM orders WHERE workspace = $1 AND id = $2"
)

func scanOrder(row Row, o *petstore.Order) error { return scanOrderAnd(row, o) }

// scanOrderAnd reads an order, and the columns after it into those given.
func scanOrderAnd(row Row, o *petstore.Order, after ...any) error {
	var shipDate *int64
	err := row.Scan(append([]any{&o.ID, &o.PetID, &o.Quantity, &shipDate, &o.Complete}, after...)...)
	if shipDate != nil {
		o.ShipDate = petstore.Time{Millis: *shipDate, Valid: true}
	}
	return err
}

// A storedOrder is an order with the id of the movement that placed it, 0 if it was imported.
type storedOrder struct {
	petstore.Order
	placed int64
}

func scanStoredOrder(row Row, o *storedOrder) error { return scanOrderAnd(row, &o.Order, &o.placed) }

// Order implements [petstore.Store].
func (s *Store) Order(ctx context.Context, workspace, id int64) (petstore.Order, error) {
	return get(ctx, s, selectOrder, workspace, id, scanOrder, petstore.NoOrder)
}

// Orders implements [petstore.Store].
func (s *Store) Orders(ctx context.Context, workspace int64, q petstore.OrderQuery) ([]petstore.Order, error) {
	return read(ctx, s, orderList(&s.dialect, workspace, &q).read)
}

func orderList(d *Dialect, workspace int64, q *petstore.OrderQuery) *list[petstore.Order] {
	l := &list[petstore.Order]{dialect: d, table: "orders", columns: orderColumns, scan: scanOrder, workspace: workspace, page: q.Page}
	completeness := []any{false, true} // each index has complete before the id
	if q.Complete != nil {
		completeness = []any{*q.Complete}
	}
	switch {
	case q.PetID != 0:
		l.index, l.equal = "orders_by_pet", []condition{{"pet = ?", q.PetID}}
		l.column, l.values = "complete", completeness
	case q.Complete != nil:
		l.index, l.column, l.values = "orders_by_complete", "complete", completeness
	}
	// The range always has both ends: a planner that does not know them expects a third of all
	// rows in a range with one.
	from, to := int64(math.MinInt64), int64(math.MaxInt64)
	if q.ShipDateFrom.Valid {
		from = q.ShipDateFrom.Millis
		l.tests = append(l.tests, condition{"ship_date + 0 >= ?", from}) // not by the index of ship dates
	}
	if q.ShipDateTo.Valid {
		to = q.ShipDateTo.Millis
		l.tests = append(l.tests, condition{"ship_date + 0 <= ?", to})
	}
	if len(l.tests) > 0 && q.PetID == 0 {
		l.findByValue("orders_by_ship_date", "complete", completeness, condition{"ship_date >= ?", from}, condition{"ship_date <= ?", to})
	}
	return l
}
