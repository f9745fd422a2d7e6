package sqlite

import (
	"context"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store"
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
		if before, err := store.Receipt(accessTx{c}, change.Workspace, change.Idempotency, lived); before != nil || err != nil {
			return before, err
		}
	}
	facts, loaded, err := c.facts(change.Workspace, change.Needs, now)
	if err != nil {
		return nil, err
	}
	effects, err := change.Ask(facts)
	if err != nil {
		return nil, err
	}
	if err := c.keep(change.Workspace, &effects, loaded); err != nil {
		return nil, err
	}
	if !c.silent {
		c.addEvents(change.Workspace, effects.Events(now, change.RequestID))
	}
	if change.Idempotency != nil {
		c.touched.wrote = true
		return nil, store.KeepReceipt(accessTx{c}, change.Workspace, change.Idempotency, change.Receipt(), lived)
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
	inUse, err := c.number(selectInUse, workspace, n.CategoryID)
	f.CategoryInUse = inUse != 0
	return f, loaded, err
}

// keep writes the effects. loaded is the pet as it was, if there was one.
func (c *conn) keep(workspace int64, e *petstore.Effects, loaded stored) (err error) {
	c.touched.wrote = c.touched.wrote || !e.Empty()
	last := loaded.lastMovement
	if e.Movement != nil {
		if last, err = c.nextID(workspace, movementID); err != nil {
			return err
		}
	}
	if e.SaveCategory != nil {
		if err := c.saveCategory(workspace, e.SaveCategory); err != nil {
			return err
		}
	}
	if e.SaveOrder != nil {
		if err := c.saveOrder(workspace, e.SaveOrder); err != nil {
			return err
		}
	}
	if e.SavePet != nil {
		if err := c.savePet(workspace, e.SavePet, &loaded, last); err != nil {
			return err
		}
		c.touched.pet(workspace, e.SavePet.ID, e.SavePet.Pet != loaded.Pet)
	}
	if e.DropPet != 0 {
		c.touched.pet(workspace, e.DropPet, true)
		if err := c.rename(workspace, e.DropPet, petstore.Fold(loaded.Name), ""); err != nil {
			return err
		}
	}
	e.Link()
	if e.Movement != nil {
		if err := c.saveMovement(workspace, last, loaded.lastMovement, *e.Movement); err != nil {
			return err
		}
	}
	return c.drop(workspace, e)
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
