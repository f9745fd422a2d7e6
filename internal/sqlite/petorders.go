package sqlite

import (
	"example.com/petstore/internal/petstore"
	"zombiezen.com/go/sqlite"
)

const (
	selectRecent  = "SELECT recent FROM pets WHERE workspace=?1 AND id=?2"
	selectEarlier = "SELECT " + orderColumns + " FROM pet_orders CROSS JOIN orders USING (workspace, pet, complete, id)" // in this order
	insertEarlier = "INSERT INTO pet_orders (workspace, pet, id, complete) VALUES (?1, ?2, ?3, ?4)"
	finishEarlier = "UPDATE pet_orders SET complete=1 WHERE workspace=?1 AND pet=?2 AND id=?3 AND complete=0"
	deleteEarlier = "DELETE FROM pet_orders WHERE workspace=?1 AND pet=?2 AND id=?3 AND complete=0"
	countOpen     = "SELECT count(*) FROM pet_orders WHERE workspace=?1 AND pet=?2 AND complete=0"
	allEarlier    = "SELECT pet, complete, id FROM pet_orders WHERE workspace=? ORDER BY pet, complete, id"
)

// orderPlaced notes a new order of a pet, as its latest. The others give way if
// there is no room.
func (c *conn) orderPlaced(workspace, pet int64, r *recent, id int64, complete bool) error {
	if r.add(id, complete) {
		return nil
	}
	if err := c.saveEarlier(workspace, pet, r); err != nil {
		return err
	}
	r.empty()
	r.add(id, complete)
	return nil
}

// saveEarlier moves the latest orders of a pet to those before.
func (c *conn) saveEarlier(workspace, pet int64, r *recent) error {
	for id, complete := range r.all() {
		if err := c.exec(insertEarlier, workspace, pet, id, complete); err != nil {
			return err
		}
	}
	return nil
}

// orderEnded notes that an open order of a pet was completed, or removed. It
// reports whether that was one of the latest.
func (c *conn) orderEnded(workspace, pet int64, r *recent, id int64, remove bool) (latest bool, err error) {
	if r.change(id, remove) {
		return true, nil
	}
	query := finishEarlier
	if remove {
		query = deleteEarlier
	}
	return false, c.exec(query, workspace, pet, id)
}

// ordersOf returns the orders of one pet, also of one that is gone. The latest
// come after all those before.
func (c *conn) ordersOf(workspace int64, q *petstore.OrderQuery) (out []petstore.Order, err error) {
	latest, err := find(c, selectRecent, workspace, q.PetID, func(row *sqlite.Stmt) recent { return scanRecent(row, 0) })
	if err != nil {
		return nil, err
	}
	out = []petstore.Order{}
	if latest == nil || latest.earlier() {
		if out, err = orderList(workspace, *q).run(c); err != nil || latest == nil {
			return out, err
		}
	}
	for id, complete := range latest.all() {
		if len(out) >= q.Limit {
			break
		}
		if id <= q.After || q.Complete != nil && *q.Complete != complete {
			continue
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
