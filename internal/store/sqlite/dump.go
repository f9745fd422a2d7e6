package sqlite

import (
	"context"

	"example.com/petstore/internal/petstore"
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
	for row, err := range c.query("SELECT "+categoryColumns+" FROM categories WHERE workspace=? ORDER BY id", workspace) {
		if err != nil {
			return err
		}
		if err := to.Category(scanCategory(row)); err != nil {
			return err
		}
	}
	return nil
}

// allPets are the ids of the pets, and of those that were deleted.
const (
	allPets = "SELECT id FROM pets WHERE workspace=?1 UNION SELECT pet FROM movements WHERE workspace=?1 AND kind='deleted'" +
		" UNION SELECT pet FROM orders WHERE workspace=?1 ORDER BY 1"
	ordersOfPet = "SELECT " + orderColumns + " FROM orders INDEXED BY orders_by_pet WHERE workspace=?1 AND pet=?2 ORDER BY complete, id"
)

func (c *conn) dumpPets(workspace int64, to petstore.Sink) error {
	for row, err := range c.query(allPets, workspace) {
		if err != nil {
			return err
		}
		if err := c.dumpPet(workspace, scanInt(row), to); err != nil {
			return err
		}
	}
	return nil
}

// dumpPet gives a pet, unless it was deleted, its orders, the open ones before the
// complete ones, and its ledger.
func (c *conn) dumpPet(workspace, id int64, to petstore.Sink) error {
	pet, err := find(c, selectStored, workspace, id, scanStored)
	if err != nil {
		return err
	}
	if pet != nil {
		if err := to.Pet(pet.StockedPet); err != nil {
			return err
		}
	}
	for row, err := range c.query(ordersOfPet, workspace, id) {
		if err != nil {
			return err
		}
		if err := to.Order(scanOrder(row)); err != nil {
			return err
		}
	}
	return c.ledger(workspace, id, to.Movement)
}

// lastIDs returns the ids that were issued last, zeros if there is no such workspace.
func (c *conn) lastIDs(workspace int64) (last petstore.LastIDs, err error) {
	for row, err := range c.query("SELECT categories, pets, orders FROM counters WHERE workspace=?", workspace) {
		if err != nil {
			return last, err
		}
		last = petstore.LastIDs{Categories: row.ColumnInt64(0), Pets: row.ColumnInt64(1), Orders: row.ColumnInt64(2)}
	}
	return last, nil
}
