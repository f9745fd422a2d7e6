package sqlite

import (
	"context"
	"math"

	"example.com/petstore/internal/petstore"
	"zombiezen.com/go/sqlite"
)

var _ petstore.Bulk = (*DB)(nil)

// Dump implements [petstore.Bulk]. It reads a snapshot: nobody waits for it, but
// the write-ahead log grows until it ends.
func (db *DB) Dump(ctx context.Context, workspace int64, to petstore.Sink) error {
	return db.readLong(ctx, snapshot(func(c *conn) error {
		if err := c.hasWorkspace(workspace); err != nil {
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
		return c.dumpAnimals(workspace, to)
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

// dumpAnimals walks over pets, those that are gone, and orders side by side. The
// ledger of an animal comes after its orders.
func (c *conn) dumpAnimals(workspace int64, to petstore.Sink) error {
	var last int64 // entry of the animal at hand
	queries := [...]struct {
		query string
		col   int
		take  func(*sqlite.Stmt) error
	}{
		{"SELECT " + animalColumns + " FROM pets WHERE workspace=? ORDER BY id", 0, func(row *sqlite.Stmt) error {
			a := scanAnimal(row)
			last = a.lastEntry
			return to.Animal(a.Animal)
		}},
		{"SELECT pet, last_entry FROM departed WHERE workspace=? ORDER BY pet", 0, func(row *sqlite.Stmt) error {
			last = row.ColumnInt64(1)
			return nil
		}},
		{"SELECT " + orderColumns + " FROM orders WHERE workspace=? ORDER BY pet, complete, id", 1,
			func(row *sqlite.Stmt) error { return to.Order(scanOrder(row)) }},
	}
	cursors := make([]*cursor, len(queries))
	for i, q := range queries {
		cur, err := c.cursor(q.query, workspace, q.col)
		if err != nil {
			return err
		}
		defer cur.stmt.Reset()
		cursors[i] = cur
	}
	for {
		pet := min(cursors[0].pet, cursors[1].pet, cursors[2].pet)
		if pet == math.MaxInt64 {
			return nil
		}
		last = 0
		for i, cur := range cursors {
			if err := cur.give(pet, queries[i].take); err != nil {
				return err
			}
		}
		if err := c.ledger(workspace, pet, last, to.Movement); err != nil {
			return err
		}
	}
}
