package sqlite

import (
	"context"
	"errors"
	"fmt"

	"example.com/petstore/internal/accesssql"
	"example.com/petstore/internal/petstore"
	"zombiezen.com/go/sqlite"
)

// Check looks for damage and returns what it found, in words, at most a hundred
// problems; none is good. It reads the whole file, of which it checks the
// structure, the references, and the ledger: for each pet the movements must
// explain its stock and its open orders, and the index of names must lead to each
// name. Other calls go on beside it.
func (db *DB) Check(ctx context.Context) (problems []string, err error) {
	err = db.readLong(ctx, snapshot(func(c *conn) (err error) {
		problems, err = c.problems()
		return err
	}))
	return problems, err
}

// problems is Check on a connection that is in a transaction.
func (c *conn) problems() ([]string, error) {
	found := accesssql.Problems{}
	var schema int64
	if _, err := c.one("SELECT max(version) FROM migrations", func(row *sqlite.Stmt) { schema = scanInt(row) }); err != nil {
		return nil, err
	}
	removing := false
	if schema >= withRemovals {
		var err error
		if removing, err = accesssql.CheckRemovals(accessTx{c}, found.Report); err != nil {
			return nil, err
		}
	}
	for _, check := range []struct {
		since int64
		of    func(*conn, accesssql.Report) error
		whole bool // all workspaces have to be
	}{
		{withNames, primeNames, false},
		{1, checkStructure, false},
		{1, checkReferences, false},
		{1, shared(accesssql.CheckOrders), true},
		{1, shared(accesssql.CheckCounters), true},
		{withLedgers, checkLedger, true},
		{withLedgers, checkEntries, true},
		{withRecent, checkLists, true},
		{withAllNames, checkNames, true},
	} {
		if schema < check.since || check.whole && removing {
			continue
		}
		if err := check.of(c, found.Report); err != nil {
			return found, err
		}
	}
	return found, nil
}

// shared is a check of both stores.
func shared(check func(accesssql.Tx, accesssql.Report) error) func(*conn, accesssql.Report) error {
	return func(c *conn, report accesssql.Report) error { return check(accessTx{c}, report) }
}

// The migrations since which what is checked is as it is.
const (
	withLedgers  = 4
	withRemovals = 10
	withNames    = 11
	withRecent   = 17
	withAllNames = 19
)

// primeNames makes FTS5 look at the file: else it may check what it remembers of an
// earlier state.
func primeNames(c *conn, _ accesssql.Report) error {
	_, err := c.one("SELECT rowid FROM pet_names WHERE pet_names MATCH 'any'", func(*sqlite.Stmt) {})
	return err
}

func checkStructure(c *conn, report accesssql.Report) error {
	return c.each("PRAGMA integrity_check(100)", func(row *sqlite.Stmt) {
		if text := row.ColumnText(0); text != "ok" {
			report("structure: %s", text)
		}
	})
}

func checkReferences(c *conn, report accesssql.Report) error {
	return c.each("PRAGMA foreign_key_check", func(row *sqlite.Stmt) {
		report("references: a row of %s names one of %s that does not exist", row.ColumnText(0), row.ColumnText(2))
	})
}

// checkEntries makes sure that no place in a ledger can be taken again.
func checkEntries(c *conn, report accesssql.Report) error {
	return c.each(`SELECT workspace, max(entry) FROM movements m GROUP BY workspace
		HAVING max(entry) > coalesce((SELECT c.entries FROM counters c WHERE c.workspace=m.workspace), 0)`, func(row *sqlite.Stmt) {
		report("ledger: workspace %d has the entry %d, which is beyond its last", row.ColumnInt64(0), row.ColumnInt64(1))
	})
}

// A ledgerCheck holds the pets against their ledgers, and counts the entries
// that are somebody's.
type ledgerCheck struct {
	c      *conn
	report accesssql.Report
	owned  map[int64]int64 // entries of pets, by workspace
	err    error           // of reading
}

// checkLedger walks over the ledgers of all pets, from the last entry of each
// to the first.
func checkLedger(c *conn, report accesssql.Report) error {
	k := &ledgerCheck{c: c, report: report, owned: map[int64]int64{}}
	err := c.each("SELECT "+ledgerColumns+", workspace FROM pets", func(row *sqlite.Stmt) {
		k.pet(scanStocked(row), row.ColumnInt64(8), row.ColumnInt64(7))
	})
	if err == nil && k.err == nil {
		err = c.each("SELECT d.workspace, d.pet, d.last_entry, p.id IS NOT NULL FROM departed d LEFT JOIN pets p ON p.workspace=d.workspace AND p.id=d.pet",
			func(row *sqlite.Stmt) {
				k.departed(row.ColumnInt64(0), row.ColumnInt64(1), row.ColumnInt64(2), row.ColumnBool(3))
			})
	}
	if err == nil && k.err == nil {
		err = c.each("SELECT workspace, count(*) FROM movements GROUP BY workspace", func(row *sqlite.Stmt) {
			if id, n := row.ColumnInt64(0), row.ColumnInt64(1); n != k.owned[id] {
				report("ledger: workspace %d has %d movements, and its pets account for %d", id, n, k.owned[id])
			}
		})
	}
	return errors.Join(err, k.err)
}

// pet checks one of the catalogue.
func (k *ledgerCheck) pet(p petstore.StockedPet, workspace, last int64) {
	name := fmt.Sprintf("ledger: pet %d of workspace %d", p.ID, workspace)
	compare := func(what string, have int64, source string, want int64) {
		if have != want {
			k.report("%s: %s is %d, and %s %d", name, what, have, source, want)
		}
	}
	if p.Quantity < 0 {
		k.report("%s: the quantity is %d", name, p.Quantity)
	}
	l := k.walk(name, workspace, p.ID, last)
	compare("the quantity", p.Quantity, "its last movement says", l.quantity)
	compare("the number of movements", p.Movements, "the last one is numbered", l.number)
	compare("the number of open orders", p.OpenOrders, "the ledger says", l.open)
}

// departed checks the ledger of a pet that is said to be gone.
func (k *ledgerCheck) departed(workspace, pet, last int64, there bool) {
	name := fmt.Sprintf("ledger: pet %d of workspace %d", pet, workspace)
	if there {
		k.report("%s is gone, and in the catalogue", name)
	}
	if l := k.walk(name, workspace, pet, last); l.quantity != 0 {
		k.report("%s is gone, and its movements leave %d", name, l.quantity)
	}
}

// An outcome is what a ledger says of its pet.
type outcome struct{ quantity, number, open int64 }

// An entry is a movement and the entry before it.
type entry struct {
	petstore.Movement
	before int64
}

const selectEntry = "SELECT " + movementColumns + ", before FROM movements WHERE workspace=?1 AND entry=?2"

func scanEntry(row *sqlite.Stmt) entry { return entry{scanMovement(row), row.ColumnInt64(7)} }

// walk reports where a ledger contradicts itself: each entry has to be the
// pet's, to count on from the one before, and to move its quantity.
func (k *ledgerCheck) walk(name string, workspace, pet, last int64) (o outcome) {
	var next *entry
	for at := last; k.err == nil; {
		e, err := find(k.c, selectEntry, workspace, at, scanEntry)
		if err != nil {
			k.err = err
			break
		}
		if e == nil || e.PetID != pet || e.before >= at {
			k.report("%s: its ledger lacks the entry %d", name, at)
			break
		}
		k.owned[workspace]++
		switch e.Kind {
		case petstore.MovedPlaced:
			o.open++
		case petstore.MovedCompleted, petstore.MovedCancelled:
			o.open--
		}
		if next == nil {
			o.quantity, o.number = e.Quantity, e.Number
		} else {
			k.follows(name, next, e)
		}
		if e.before == 0 {
			k.follows(name, e, &entry{})
			break
		}
		next, at = e, e.before
	}
	return o
}

// follows reports if an entry does not follow from the one before.
func (k *ledgerCheck) follows(name string, e, before *entry) {
	if e.Number != before.Number+1 {
		k.report("%s: the movement %d follows the movement %d", name, e.Number, before.Number)
	}
	if e.Quantity != before.Quantity+e.Delta {
		k.report("%s: the movement %d leaves %d, after %d and a change by %d", name, e.Number, e.Quantity, before.Quantity, e.Delta)
	}
}

// selectListed is of each pet with the number of its open orders, and of those in
// pet_orders, how many are open, and the last.
const selectListed = `SELECT workspace, id, recent, open_orders,
	(SELECT count(*) FROM pet_orders o WHERE o.workspace=p.workspace AND o.pet=p.id AND complete=0),
	max(coalesce((SELECT max(id) FROM pet_orders o WHERE o.workspace=p.workspace AND o.pet=p.id AND complete=0), 0),
		coalesce((SELECT max(id) FROM pet_orders o WHERE o.workspace=p.workspace AND o.pet=p.id AND complete=1), 0))
	FROM pets p`

// checkLists holds the lists of the orders of pets against the orders: each has to be
// there, none comes twice, and none is missing.
func checkLists(c *conn, report accesssql.Report) error {
	var failed error
	listed := map[int64]int64{} // orders that pets have, by workspace
	order := func(workspace, pet, id int64, complete bool) {
		listed[workspace]++
		o, err := find(c, selectOrder, workspace, id, scanOrder)
		switch {
		case err != nil:
			failed = err
		case o == nil:
			report("lists: pet %d of workspace %d has the order %d, which does not exist", pet, workspace, id)
		case o.PetID != pet || o.Complete != complete:
			report("lists: order %d of workspace %d is of the pet %d, complete: %t, and listed for the pet %d, complete: %t",
				id, workspace, o.PetID, o.Complete, pet, complete)
		}
	}
	err := c.each(selectListed, func(row *sqlite.Stmt) {
		workspace, pet, open, last := row.ColumnInt64(0), row.ColumnInt64(1), row.ColumnInt64(4), row.ColumnInt64(5)
		for id, complete := range scanRecent(row, 2).all() {
			if id <= last {
				report("lists: order %d of workspace %d, one of the latest of the pet %d, comes before the order %d", id, workspace, pet, last)
			}
			last = id
			order(workspace, pet, id, complete)
			if !complete {
				open++
			}
		}
		if have := row.ColumnInt64(3); have != open {
			report("lists: pet %d of workspace %d: the number of open orders is %d, and the orders say %d", pet, workspace, have, open)
		}
	})
	if err == nil {
		err = c.each("SELECT workspace, pet, id, complete FROM pet_orders", func(row *sqlite.Stmt) {
			order(row.ColumnInt64(0), row.ColumnInt64(1), row.ColumnInt64(2), row.ColumnBool(3))
		})
	}
	if err == nil {
		err = c.each("SELECT workspace, count(*) FROM orders GROUP BY workspace", func(row *sqlite.Stmt) {
			if id, n := row.ColumnInt64(0), row.ColumnInt64(1); n != listed[id] {
				report("lists: workspace %d has %d orders, and its pets account for %d", id, n, listed[id])
			}
		})
	}
	return errors.Join(err, failed)
}
