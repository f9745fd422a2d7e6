package sqlite

import (
	"fmt"

	"example.com/petstore/internal/petstore"
	"zombiezen.com/go/sqlite"
)

// A ledgerCheck holds the pets against their ledgers, and counts the entries
// that are somebody's.
type ledgerCheck struct {
	c       *conn
	report  func(string, ...any)
	owned   map[int64]int64 // entries of pets, by workspace
	recents bool            // that pets have their latest orders
	ordered map[int64]int64 // orders that pets have, by workspace
	err     error           // of reading
}

// checkLedger walks over the ledgers of all pets, from the last entry of each
// to the first.
func checkLedger(c *conn, report func(string, ...any)) error {
	k := &ledgerCheck{c: c, report: report, owned: map[int64]int64{}, ordered: map[int64]int64{}}
	var err error
	if k.recents, err = c.hasTable("pet_orders"); err != nil {
		return err
	}
	columns, open := storedColumns, countOpen
	if !k.recents { // a file of before: an index led to the orders
		columns, open = ledgerColumns+", NULL", "SELECT count(*) FROM orders WHERE workspace=?1 AND pet=?2 AND complete=0"
	}
	err = c.each("SELECT "+columns+", workspace FROM pets", func(row *sqlite.Stmt) {
		workspace, a := row.ColumnInt64(9), scanStored(row)
		k.pet(a, workspace, k.latest(workspace, &a)+k.count(open, workspace, a.ID))
	})
	if err == nil && k.err == nil {
		err = c.each("SELECT workspace, pet, last_entry FROM departed", func(row *sqlite.Stmt) {
			k.departed(row.ColumnInt64(0), row.ColumnInt64(1), row.ColumnInt64(2))
		})
	}
	if err == nil && k.err == nil {
		err = c.each("SELECT workspace, count(*) FROM movements GROUP BY workspace", func(row *sqlite.Stmt) {
			if id, n := row.ColumnInt64(0), row.ColumnInt64(1); n != k.owned[id] {
				report("ledger: workspace %d has %d movements, and its pets account for %d", id, n, k.owned[id])
			}
		})
	}
	if err == nil && k.err == nil && k.recents {
		err = k.orders()
	}
	if k.err != nil {
		return k.err
	}
	return err
}

// count returns the number that a query of a pet selects.
func (k *ledgerCheck) count(query string, workspace, pet int64) int64 {
	if k.err != nil {
		return 0
	}
	n, err := find(k.c, query, workspace, pet, scanInt)
	if err != nil {
		k.fail(err)
		return 0
	}
	return *n
}

// pet checks one of the catalogue, given how many of its orders are open.
func (k *ledgerCheck) pet(a stored, workspace, open int64) {
	name := fmt.Sprintf("ledger: pet %d of workspace %d", a.ID, workspace)
	compare := func(what string, have int64, source string, want int64) {
		if have != want {
			k.report("%s: %s is %d, and %s %d", name, what, have, source, want)
		}
	}
	if a.Quantity < 0 {
		k.report("%s: the quantity is %d", name, a.Quantity)
	}
	l := k.walk(name, workspace, a.ID, a.lastEntry)
	compare("the quantity", a.Quantity, "its last movement says", l.quantity)
	compare("the number of movements", a.Movements, "the last one is numbered", l.number)
	compare("the number of open orders", a.OpenOrders, "the ledger says", l.open)
	compare("the number of open orders", a.OpenOrders, "the orders say", open)
}

// departed checks the ledger of a pet that is gone.
func (k *ledgerCheck) departed(workspace, pet, last int64) {
	name := fmt.Sprintf("ledger: pet %d of workspace %d", pet, workspace)
	if found, err := find(k.c, selectPet, workspace, pet, scanPet); err != nil || found != nil {
		k.fail(err)
		k.report("%s is gone, and in the catalogue", name)
	}
	if l := k.walk(name, workspace, pet, last); l.quantity != 0 {
		k.report("%s is gone, and its movements leave %d", name, l.quantity)
	}
}

func (k *ledgerCheck) fail(err error) {
	if k.err == nil {
		k.err = err
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
			k.fail(err)
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
