package sqlite

import (
	"context"
	"slices"

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
	if q.PetID == 0 {
		return orderList(workspace, q).read(ctx, db)
	}
	read := db.read
	if q.ShipDateFrom.Valid || q.ShipDateTo.Valid { // may read all of them
		read = db.readLong
	}
	err = read(ctx, snapshot(func(c *conn) (err error) {
		found, err = c.ordersOf(workspace, &q)
		return err
	}))
	return found, err
}

// orderList is of the orders of all pets, or of those of one that are in
// pet_orders.
func orderList(workspace int64, q petstore.OrderQuery) *list[petstore.Order] {
	l := &list[petstore.Order]{
		from: "SELECT " + orderColumns + " FROM orders", workspace: workspace, page: q.Page,
		scan: scanOrder, id: func(o petstore.Order) int64 { return o.ID },
	}
	switch {
	case q.Complete != nil:
		l.index, l.lanes = "orders_by_complete", []filter{{byComplete, *q.Complete}}
	case q.PetID != 0: // the key has complete before the id
		l.lanes = []filter{{byComplete, false}, {byComplete, true}}
	}
	if q.PetID != 0 {
		l.from, l.index = selectEarlier, ""
		l.filters = append(l.filters, filter{byPet, q.PetID})
	}
	if q.ShipDateFrom.Valid {
		l.filters = append(l.filters, filter{shipsFrom, q.ShipDateFrom.Millis})
	}
	if q.ShipDateTo.Valid {
		l.filters = append(l.filters, filter{shipsTo, q.ShipDateTo.Millis})
	}
	if q.PetID == 0 && len(l.filters) > 0 {
		lanes := l.lanes
		if len(lanes) == 0 {
			lanes = []filter{{byComplete, false}, {byComplete, true}}
		}
		l.values = idsOf("orders", "orders_by_ship_date", workspace, lanes, l.filters...)
	}
	return l
}

const (
	selectRecent  = "SELECT recent FROM pets WHERE workspace=?1 AND id=?2"
	selectEarlier = "SELECT " + orderColumns + " FROM pet_orders CROSS JOIN orders USING (workspace, pet, complete, id)" // in this order
	insertEarlier = "INSERT INTO pet_orders (workspace, pet, id, complete) VALUES (?1, ?2, ?3, ?4)"
	finishEarlier = "UPDATE pet_orders SET complete=1 WHERE workspace=?1 AND pet=?2 AND id=?3 AND complete=0"
	deleteEarlier = "DELETE FROM pet_orders WHERE workspace=?1 AND pet=?2 AND id=?3 AND complete=0"
)

// ordersOf returns the orders of one pet, also of one that is gone. The latest
// come after all those before.
func (c *conn) ordersOf(workspace int64, q *petstore.OrderQuery) (out []petstore.Order, err error) {
	latest, err := find(c, selectRecent, workspace, q.PetID, func(row *sqlite.Stmt) recent { return scanRecent(row, 0) })
	if err != nil {
		return nil, err
	}
	if latest == nil {
		latest = new(recent)
	}
	if q.Newest {
		if out, err = c.appendLatest(workspace, q, *latest, []petstore.Order{}); err != nil {
			return nil, err
		}
		rest := *q
		rest.Limit -= len(out)
		before, err := orderList(workspace, rest).run(c)
		return append(out, before...), err
	}
	if out, err = orderList(workspace, *q).run(c); err != nil {
		return nil, err
	}
	return c.appendLatest(workspace, q, *latest, out)
}

// appendLatest appends those of the latest orders that are asked for.
func (c *conn) appendLatest(workspace int64, q *petstore.OrderQuery, latest recent, out []petstore.Order) (_ []petstore.Order, err error) {
	var ids []int64
	for id, complete := range latest.all() {
		if q.Has(id) && (q.Complete == nil || *q.Complete == complete) {
			ids = append(ids, id)
		}
	}
	if q.Newest {
		slices.Reverse(ids)
	}
	for _, id := range ids {
		if len(out) >= q.Limit {
			break
		}
		if out, err = c.appendOrder(workspace, id, q, out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// appendOrder appends an order if it is what is asked for.
func (c *conn) appendOrder(workspace, id int64, q *petstore.OrderQuery, out []petstore.Order) ([]petstore.Order, error) {
	o, err := find(c, selectOrder, workspace, id, scanOrder)
	if err != nil || o == nil || o.PetID != q.PetID || q.Complete != nil && *q.Complete != o.Complete || !shipsWithin(q, o.ShipDate) {
		return out, err
	}
	return append(out, *o), nil
}

// shipsWithin reports whether a ship date is within what is asked for.
func shipsWithin(q *petstore.OrderQuery, at petstore.Time) bool {
	from, to := q.ShipDateFrom, q.ShipDateTo
	return (!from.Valid || at.Valid && at.Millis >= from.Millis) && (!to.Valid || at.Valid && at.Millis <= to.Millis)
}

// keepOrder writes the order, and notes it among the pet's latest, which are written
// with the pet: an order that is placed, completed or removed comes with it.
func (c *conn) keepOrder(workspace int64, e *petstore.Effects, a *stored) error {
	fresh := e.SaveOrder != nil && e.SaveOrder.ID == 0
	if e.SaveOrder != nil {
		if err := c.saveOrder(workspace, e.SaveOrder); err != nil {
			return err
		}
	}
	switch {
	case fresh:
		return c.orderPlaced(workspace, a.ID, &a.recent, e.SaveOrder.ID, e.SaveOrder.Complete)
	case e.SaveOrder != nil && e.SaveOrder.Complete: // it was open: complete ones do not change
		return c.orderEnded(workspace, a.ID, a.recent, e.SaveOrder.ID, false)
	case e.DropOrder != 0:
		return c.orderEnded(workspace, a.ID, a.recent, e.DropOrder, true)
	}
	return nil
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

// orderPlaced notes a new order of a pet, as its latest. The others give way if
// there is no room.
func (c *conn) orderPlaced(workspace, pet int64, r *recent, id int64, complete bool) error {
	if r.add(id, complete) {
		return nil
	}
	err := c.saveEarlier(workspace, pet, *r)
	clear(*r)
	r.add(id, complete)
	return err
}

// saveEarlier moves the latest orders of a pet to those before.
func (c *conn) saveEarlier(workspace, pet int64, r recent) error {
	for id, complete := range r.all() {
		if err := c.exec(insertEarlier, workspace, pet, id, complete); err != nil {
			return err
		}
	}
	return nil
}

// orderEnded notes that an open order of a pet was completed, or removed.
func (c *conn) orderEnded(workspace, pet int64, r recent, id int64, remove bool) error {
	if r.change(id, remove) {
		return nil
	}
	query := finishEarlier
	if remove {
		query = deleteEarlier
	}
	return c.exec(query, workspace, pet, id)
}
