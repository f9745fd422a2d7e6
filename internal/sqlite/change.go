package sqlite

import (
	"context"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"zombiezen.com/go/sqlite"
)

// Do implements [petstore.Store].
func (db *DB) Do(ctx context.Context, c *petstore.Change) (*petstore.Receipt, error) {
	var before *petstore.Receipt
	err := db.changeOf(ctx, named, func(w *conn) (err error) {
		before, err = w.do(c, petstore.At(db.now()), db.Lived())
		return err
	})
	if err != nil {
		return nil, err
	}
	return before, nil
}

// do carries out the steps of a change inside the writer's transaction. Receipts are
// dated by lived.
func (c *conn) do(change *petstore.Change, now, lived petstore.Time) (*petstore.Receipt, error) {
	if c.removed[change.Workspace] {
		return nil, access.Resetting()
	}
	if change.Idempotency != nil {
		if before, err := c.receipt(change.Workspace, change.Idempotency, lived); before != nil || err != nil {
			return before, err
		}
	}
	facts, loaded, err := c.facts(change.Workspace, change.Needs, now)
	if err != nil {
		return nil, err
	}
	effects, err := change.Decide(facts)
	if err != nil {
		return nil, err
	}
	if err := c.keep(change.Workspace, &effects, loaded); err != nil {
		return nil, err
	}
	if change.Idempotency != nil {
		c.touched.wrote = true
		return nil, c.keepReceipt(change.Workspace, change.Idempotency, change.Receipt(), lived)
	}
	return nil, nil
}

// facts loads what n names, and the pet once more as it is; the writer's
// transaction is the lock.
func (c *conn) facts(workspace int64, n petstore.Needs, now petstore.Time) (f petstore.Facts, loaded stored, err error) {
	f.Now = now
	petID := n.PetID
	if n.OrderID != 0 {
		if f.Order, err = find(c, selectOrder, workspace, n.OrderID, scanOrder); err != nil {
			return f, loaded, err
		}
		if f.Order != nil {
			petID = f.Order.PetID
		}
	}
	if petID != 0 {
		found, err := find(c, selectStored, workspace, petID, scanStored)
		if err != nil {
			return f, loaded, err
		}
		if found != nil {
			f.Pet, loaded = &found.StockedPet, *found
		}
	}
	if n.CategoryID == 0 {
		return f, loaded, nil
	}
	if f.Category, err = find(c, selectCategory, workspace, n.CategoryID, scanCategory); err != nil || !n.CategoryUse {
		return f, loaded, err
	}
	f.CategoryInUse, err = c.one(selectInUse, func(*sqlite.Stmt) {}, workspace, n.CategoryID)
	return f, loaded, err
}

// keep writes the effects. loaded is the pet as it was, if there was one.
func (c *conn) keep(workspace int64, e *petstore.Effects, loaded stored) (err error) {
	c.touched.wrote = c.touched.wrote || *e != (petstore.Effects{})
	last := loaded.lastEntry
	if e.Movement != nil {
		if last, err = c.nextID(workspace, entryID); err != nil {
			return err
		}
	}
	if e.SaveCategory != nil {
		if err := c.saveCategory(workspace, e.SaveCategory); err != nil {
			return err
		}
	}
	ordered, err := c.keepOrder(workspace, e, &loaded)
	if err != nil {
		return err
	}
	if e.SavePet != nil {
		if err := c.savePet(workspace, e.SavePet, &loaded, last, ordered); err != nil {
			return err
		}
		c.touched.pet(workspace, e.SavePet.ID, e.SavePet.Pet != loaded.Pet)
	}
	if e.DropPet != 0 {
		c.touched.pet(workspace, e.DropPet, true)
		c.renamed(workspace, e.DropPet, petstore.Fold(loaded.Name), "")
		if err := c.saveDeparted(workspace, e.DropPet, last); err != nil {
			return err
		}
		if err := c.saveEarlier(workspace, e.DropPet, &loaded.recent); err != nil {
			return err
		}
	}
	e.Link()
	if e.Movement != nil {
		if err := c.saveMovement(workspace, last, loaded.lastEntry, *e.Movement); err != nil {
			return err
		}
	}
	return c.drop(workspace, e)
}

// keepOrder writes the order, and reports whether the pet's latest ones changed,
// which are not written yet. An order that is placed, completed or removed comes
// with its pet: they change the ledger.
func (c *conn) keepOrder(workspace int64, e *petstore.Effects, a *stored) (ordered bool, err error) {
	fresh := e.SaveOrder != nil && e.SaveOrder.ID == 0
	if e.SaveOrder != nil {
		if err := c.saveOrder(workspace, e.SaveOrder); err != nil {
			return false, err
		}
	}
	switch {
	case fresh:
		return true, c.orderPlaced(workspace, a.ID, &a.recent, e.SaveOrder.ID, e.SaveOrder.Complete)
	case e.SaveOrder != nil && e.SaveOrder.Complete: // it was open: complete ones do not change
		return c.orderEnded(workspace, a.ID, &a.recent, e.SaveOrder.ID, false)
	case e.DropOrder != 0:
		return c.orderEnded(workspace, a.ID, &a.recent, e.DropOrder, true)
	}
	return false, nil
}

func (c *conn) drop(workspace int64, e *petstore.Effects) error {
	for _, d := range [...]struct {
		id    int64
		query string
	}{
		{e.DropOrder, "DELETE FROM orders WHERE workspace=? AND id=?"},
		{e.DropPet, "DELETE FROM pets WHERE workspace=? AND id=?"},
		{e.DropCategory, "DELETE FROM categories WHERE workspace=? AND id=?"},
	} {
		if d.id == 0 {
			continue
		}
		stmt, err := c.ints(d.query, workspace, d.id)
		if err != nil {
			return err
		}
		if _, err := stmt.Step(); err != nil {
			return err
		}
	}
	return nil
}

func (c *conn) saveCategory(workspace int64, row *petstore.Category) (err error) {
	query := "UPDATE categories SET name=?3, folded=?4, description=?5 WHERE workspace=?1 AND id=?2"
	if row.ID == 0 {
		query = "INSERT INTO categories (workspace, id, name, folded, description) VALUES (?1, ?2, ?3, ?4, ?5)"
		if row.ID, err = c.nextID(workspace, categoryID); err != nil {
			return err
		}
	}
	var description any
	if row.Description != nil {
		description = *row.Description
	}
	return c.exec(query, workspace, row.ID, row.Name, petstore.Fold(row.Name), description)
}

// savePet writes no more than what changed since the pet was loaded: an index
// costs as much as a row, and most changes move nothing but stock. The latest
// orders are those of loaded, and written if they changed.
func (c *conn) savePet(workspace int64, a *petstore.StockedPet, loaded *stored, lastEntry int64, ordered bool) (err error) {
	if a.ID == 0 {
		if a.ID, err = c.nextID(workspace, petID); err != nil {
			return err
		}
		c.renamed(workspace, a.ID, "", petstore.Fold(a.Name))
		return c.exec(`INSERT INTO pets (workspace, id, quantity, open_orders, movements, last_entry, status, category, name, folded, recent)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, x'')`, workspace, a.ID, a.Quantity, a.OpenOrders, a.Movements, lastEntry,
			string(a.Status), a.CategoryID, a.Name, petstore.Fold(a.Name))
	}
	if a.Name != loaded.Name {
		c.renamed(workspace, a.ID, petstore.Fold(loaded.Name), petstore.Fold(a.Name))
	}
	what := updateFor(a, &loaded.StockedPet)
	queries := &updates
	if ordered {
		queries = &updatesOfOrders
	}
	stmt, err := c.ints(queries[what], workspace, a.ID, a.Quantity, a.OpenOrders, a.Movements, lastEntry)
	if err != nil {
		return err
	}
	if what == ofName || what == ofPet {
		stmt.BindText(7, a.Name)
		stmt.BindText(8, petstore.Fold(a.Name))
	}
	if what == ofPet {
		stmt.BindText(9, string(a.Status))
		stmt.BindInt64(10, a.CategoryID)
	}
	if ordered {
		stmt.BindBytes(11, loaded.recent.column())
	}
	_, err = stmt.Step()
	return err
}

// What of a pet changes, from what does most often to all of it.
const (
	ofStock = iota
	ofName
	ofPet
)

const (
	setStock  = "UPDATE pets SET quantity=?3, open_orders=?4, movements=?5, last_entry=?6"
	setOrders = ", recent=?11"
	setName   = ", name=?7, folded=?8"
	setRest   = ", status=?9, category=?10"
	onePet    = " WHERE workspace=?1 AND id=?2"
)

// The updates of a pet, and those that write its latest orders, too. One that
// names a column changes the indexes that have it, whether the value is another
// or not.
var updates, updatesOfOrders = updatesThat(setStock), updatesThat(setStock + setOrders)

func updatesThat(set string) [3]string {
	return [...]string{ofStock: set + onePet, ofName: set + setName + onePet, ofPet: set + setName + setRest + onePet}
}

// updateFor returns the least that is all that changed.
func updateFor(a, loaded *petstore.StockedPet) int {
	switch {
	case a.Status != loaded.Status || a.CategoryID != loaded.CategoryID:
		return ofPet
	case a.Name != loaded.Name:
		return ofName
	}
	return ofStock
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
