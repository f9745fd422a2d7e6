package postgres

import (
	"context"
	"math"

	"example.com/petstore/internal/petstore"
	"github.com/jackc/pgx/v5"
)

const (
	orderColumns = "id, pet, quantity, ship_date, complete" // as scanOrder reads them
	selectOrder  = "SELECT " + orderColumns + " FROM orders WHERE workspace = $1 AND id = $2"
)

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

// Order implements [petstore.Store].
func (db *DB) Order(ctx context.Context, workspace, id int64) (petstore.Order, error) {
	return get(ctx, db, selectOrder, workspace, id, scanOnlyOrder, petstore.NoOrder)
}

// Orders implements [petstore.Store].
func (db *DB) Orders(ctx context.Context, workspace int64, q petstore.OrderQuery) ([]petstore.Order, error) {
	return orderList(workspace, q).read(ctx, db)
}

func orderList(workspace int64, q petstore.OrderQuery) *list[petstore.Order] {
	l := &list[petstore.Order]{
		columns: orderColumns, table: "orders", workspace: workspace, page: q.Page, scan: scanOnlyOrder,
	}
	dated, shipsFrom, shipsTo := q.ShipDateFrom.Valid || q.ShipDateTo.Valid, shipsFrom, shipsTo
	switch {
	case q.PetID != 0: // its index has complete before the id
		shipsFrom, shipsTo = besidePetFrom, besidePetTo
		l.lanes = []filter{{byComplete, false}, {byComplete, true}}
		if q.Complete != nil {
			l.lanes = []filter{{byComplete, *q.Complete}}
		}
		l.filters = append(l.filters, filter{byPet, q.PetID})
	case dated:
		l.far = true
		if q.Complete != nil {
			l.filters = append(l.filters, filter{byComplete, *q.Complete})
		}
	case q.Complete != nil:
		l.lanes = []filter{{byComplete, *q.Complete}}
	}
	if dated {
		from, to := shipping(q)
		l.filters = append(l.filters, filter{shipsFrom, from}, filter{shipsTo, to})
	}
	return l
}

// shipping returns the range of ship dates, with both ends, whatever was asked: of an
// open one the planner thinks that a third of all rows is in it.
func shipping(q petstore.OrderQuery) (from, to int64) {
	from, to = math.MinInt64, math.MaxInt64
	if q.ShipDateFrom.Valid {
		from = q.ShipDateFrom.Millis
	}
	if q.ShipDateTo.Valid {
		to = q.ShipDateTo.Millis
	}
	return from, to
}
