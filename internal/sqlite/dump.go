package sqlite

import (
	"context"
	"fmt"

	"example.com/petstore/internal/petstore"
	"zombiezen.com/go/sqlite"
)

var _ petstore.Bulk = (*DB)(nil)

// Dump implements [petstore.Bulk]. It reads a snapshot: nobody waits for it, but
// the write-ahead log grows until it ends.
func (db *DB) Dump(ctx context.Context, workspace int64, to petstore.Sink) error {
	return db.readLong(ctx, snapshot(func(c *conn) error {
		if err := c.ready(workspace); err != nil {
			return err
		}
		last, err := c.lastIDs(workspace)
		if err != nil {
			return err
		}
		if err := to.Begin(last); err != nil {
			return err
		}
		if err := c.dumpCategories(workspace, to); err != nil {
			return err
		}
		return c.dumpPets(workspace, to)
	}))
}

func (c *conn) dumpCategories(workspace int64, to petstore.Sink) error {
	return c.walk("SELECT "+categoryColumns+" FROM categories WHERE workspace=? ORDER BY id", workspace, func(row *sqlite.Stmt) error {
		return to.Category(scanCategory(row))
	})
}

// walk calls take for each row of a query of a workspace, until it returns an error.
func (c *conn) walk(query string, workspace int64, take func(*sqlite.Stmt) error) error {
	stmt, err := c.ints(query, workspace)
	if err != nil {
		return err
	}
	for {
		if found, err := stmt.Step(); err != nil || !found {
			return err
		}
		if err := take(stmt); err != nil {
			_ = stmt.Reset() // left open it would keep the snapshot
			return err
		}
	}
}

// allPets are the ids of the pets, and of those that are gone.
const allPets = "SELECT id FROM pets WHERE workspace=?1 UNION SELECT pet FROM departed WHERE workspace=?1 UNION SELECT pet FROM pet_orders WHERE workspace=?1 ORDER BY 1"

func (c *conn) dumpPets(workspace int64, to petstore.Sink) error {
	given := int64(0)
	err := c.walk(allPets, workspace, func(row *sqlite.Stmt) error {
		n, err := c.dumpPet(workspace, scanInt(row), to)
		given += n
		return err
	})
	if err != nil {
		return err
	}
	return c.gaveAll(workspace, given)
}

// dumpPet gives a pet, unless it is gone, its orders, the open ones before the complete
// ones, and its ledger. It returns how many orders there were.
func (c *conn) dumpPet(workspace, id int64, to petstore.Sink) (orders int64, err error) {
	pet, err := find(c, selectStored, workspace, id, scanStored)
	if err == nil && pet != nil {
		err = to.Pet(pet.StockedPet)
	}
	for _, complete := range []bool{false, true} {
		q := petstore.OrderQuery{PetID: id, Complete: &complete, Page: petstore.Page{Limit: petstore.MaxPage}}
		for more := true; more && err == nil; {
			var page []petstore.Order
			page, err = c.ordersOf(workspace, &q)
			for i := 0; err == nil && i < len(page); i++ {
				q.After = page[i].ID
				orders++
				err = to.Order(page[i])
			}
			more = len(page) == q.Limit
		}
	}
	if err != nil {
		return orders, err
	}
	last, err := find(c, selectLastEntry, workspace, id, scanInt)
	if err != nil || last == nil {
		return orders, err
	}
	return orders, c.ledger(workspace, id, *last, to.Movement)
}

// gaveAll returns an error if a workspace has other than so many orders.
func (c *conn) gaveAll(workspace, given int64) error {
	orders := int64(0)
	_, err := c.one("SELECT count(*) FROM orders WHERE workspace=?", func(row *sqlite.Stmt) { orders = scanInt(row) }, workspace)
	if err == nil && given != orders {
		err = fmt.Errorf("workspace %d has %d orders, and its pets account for %d; petstore doctor says more", workspace, orders, given)
	}
	return err
}
