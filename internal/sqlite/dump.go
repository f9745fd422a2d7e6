package sqlite

import (
	"context"
	"fmt"
	"math"

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

func (c *conn) lastIDs(workspace int64) (last petstore.LastIDs, err error) {
	_, err = c.one("SELECT categories, pets, orders FROM counters WHERE workspace=?", func(row *sqlite.Stmt) {
		last = petstore.LastIDs{Categories: row.ColumnInt64(0), Pets: row.ColumnInt64(1), Orders: row.ColumnInt64(2)}
	}, workspace)
	return last, err
}

// A cursor walks over the rows of a query, of which one column is the id of a
// pet, in ascending order of it.
type cursor struct {
	stmt *sqlite.Stmt
	col  int
	pet  int64 // of the row that the cursor is at; MaxInt64 at the end
}

func (c *conn) cursor(query string, workspace int64, col int) (*cursor, error) {
	stmt, err := c.ints(query, workspace)
	if err != nil {
		return nil, err
	}
	cur := &cursor{stmt: stmt, col: col}
	return cur, cur.next()
}

func (cur *cursor) next() error {
	found, err := cur.stmt.Step()
	if err != nil {
		return err
	}
	cur.pet = math.MaxInt64
	if found {
		cur.pet = cur.stmt.ColumnInt64(cur.col)
	}
	return nil
}

// give gives the rows of a pet to take.
func (cur *cursor) give(pet int64, take func(*sqlite.Stmt) error) error {
	for cur.pet == pet {
		if err := take(cur.stmt); err != nil {
			return err
		}
		if err := cur.next(); err != nil {
			return err
		}
	}
	return nil
}

func (c *conn) dumpCategories(workspace int64, to petstore.Sink) error {
	cur, err := c.cursor("SELECT "+categoryColumns+" FROM categories WHERE workspace=? ORDER BY id", workspace, 0)
	if err != nil {
		return err
	}
	defer cur.stmt.Reset() // a statement that is left open would keep the snapshot
	for err == nil && cur.pet != math.MaxInt64 {
		err = cur.give(cur.pet, func(row *sqlite.Stmt) error { return to.Category(scanCategory(row)) })
	}
	return err
}

// dumpPets walks over pets, those that are gone, and orders side by side. The
// ledger of a pet comes after its orders, the open ones before the complete ones.
func (c *conn) dumpPets(workspace int64, to petstore.Sink) error {
	cursors := make([]*cursor, 0, 3)
	for _, query := range []string{
		"SELECT " + storedColumns + " FROM pets WHERE workspace=? ORDER BY id",
		"SELECT pet, last_entry FROM departed WHERE workspace=? ORDER BY pet",
		allEarlier,
	} {
		cur, err := c.cursor(query, workspace, 0)
		if err != nil {
			return err
		}
		defer cur.stmt.Reset()
		cursors = append(cursors, cur)
	}
	pets, gone, earlier := cursors[0], cursors[1], cursors[2]
	for given := int64(0); ; {
		pet := min(pets.pet, gone.pet, earlier.pet)
		if pet == math.MaxInt64 {
			return c.gaveAll(workspace, given)
		}
		var latest recent
		var last int64 // entry of the ledger
		err := pets.give(pet, func(row *sqlite.Stmt) error {
			a := scanStored(row)
			last, latest = a.lastEntry, a.recent
			return to.Pet(a.StockedPet)
		})
		if err == nil {
			err = gone.give(pet, func(row *sqlite.Stmt) error {
				last = row.ColumnInt64(1)
				return nil
			})
		}
		for _, complete := range []bool{false, true} {
			if err == nil {
				err = c.dumpOrders(workspace, pet, complete, earlier, latest, func(o petstore.Order) error {
					given++
					return to.Order(o)
				})
			}
		}
		if err == nil {
			err = c.ledger(workspace, pet, last, to.Movement)
		}
		if err != nil {
			return err
		}
	}
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

// dumpOrders gives the open or the complete orders of a pet, those of pet_orders,
// at which the cursor is, before the latest.
func (c *conn) dumpOrders(workspace, pet int64, complete bool, earlier *cursor, latest recent, take func(petstore.Order) error) error {
	order := func(id int64) error {
		o, err := find(c, selectOrder, workspace, id, scanOrder)
		if err == nil && (o == nil || o.PetID != pet || o.Complete != complete) {
			err = fmt.Errorf("pet %d of workspace %d has not the order %d that it names, or not in that state; petstore doctor says more", pet, workspace, id)
		}
		if err != nil {
			return err
		}
		return take(*o)
	}
	for earlier.pet == pet && earlier.stmt.ColumnBool(1) == complete {
		if err := order(earlier.stmt.ColumnInt64(2)); err != nil {
			return err
		}
		if err := earlier.next(); err != nil {
			return err
		}
	}
	for id, is := range latest.all() {
		if is != complete {
			continue
		}
		if err := order(id); err != nil {
			return err
		}
	}
	return nil
}
