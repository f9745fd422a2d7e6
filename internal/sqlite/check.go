package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"example.com/petstore/internal/petstore"
	"zombiezen.com/go/sqlite"
)

// maxProblems bounds what Check returns: a broken file can have millions.
const maxProblems = 100

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
	found := []string{}
	report := func(format string, args ...any) {
		if len(found) < maxProblems {
			found = append(found, fmt.Sprintf(format, args...))
		}
	}
	removing, err := c.removing()
	if err != nil {
		return found, err
	}
	if len(removing) > 0 {
		report("ledger: workspace %d is being reset or deleted; check again when that has ended", removing[0])
		err := errors.Join(checkStructure(c, report), checkReferences(c, report))
		return found, err
	}
	checks := []func(*conn, func(string, ...any)) error{checkStructure, checkReferences, checkOrders, checkCounters}
	current, err := c.hasTable("departed")
	if err != nil {
		return found, err
	}
	if current { // before, ledgers were kept in another way
		checks = append(checks, checkLedger, checkEntries)
	}
	if current, err = c.hasTable("pet_names"); err != nil {
		return found, err
	}
	if current {
		checks = append(checks, checkNames)
	}
	for _, check := range checks {
		if err := check(c, report); err != nil {
			return found, err
		}
	}
	return found, nil
}

// removing returns the workspaces whose rows are being removed: they are not whole.
func (c *conn) removing() (all []int64, err error) {
	current, err := c.hasTable("removals")
	if err == nil && current {
		err = c.each("SELECT workspace FROM removals WHERE ended_at IS NULL", func(row *sqlite.Stmt) { all = append(all, scanInt(row)) })
	}
	return all, err
}

func checkStructure(c *conn, report func(string, ...any)) error {
	indexed, err := c.hasTable("pet_names")
	if err == nil && indexed { // else FTS5 may check what it remembers of an earlier state
		_, err = c.one("SELECT rowid FROM pet_names WHERE pet_names MATCH 'any'", func(*sqlite.Stmt) {})
	}
	if err != nil {
		return err
	}
	return c.each("PRAGMA integrity_check(100)", func(row *sqlite.Stmt) {
		if text := row.ColumnText(0); text != "ok" {
			report("structure: %s", text)
		}
	})
}

func checkReferences(c *conn, report func(string, ...any)) error {
	return c.each("PRAGMA foreign_key_check", func(row *sqlite.Stmt) {
		report("references: a row of %s names one of %s that does not exist", row.ColumnText(0), row.ColumnText(2))
	})
}

func checkOrders(c *conn, report func(string, ...any)) error {
	return c.each(`SELECT workspace, id, pet FROM orders o WHERE complete=0
		AND NOT EXISTS (SELECT 1 FROM pets p WHERE p.workspace=o.workspace AND p.id=o.pet)`, func(row *sqlite.Stmt) {
		report("ledger: order %d of workspace %d is open, and its pet %d does not exist",
			row.ColumnInt64(1), row.ColumnInt64(0), row.ColumnInt64(2))
	})
}

// checkCounters makes sure that no id can be issued again.
func checkCounters(c *conn, report func(string, ...any)) error {
	for _, table := range []string{"pets", "categories", "orders"} {
		err := c.each(`SELECT workspace, max(id) FROM `+table+` t GROUP BY workspace
			HAVING max(id) > coalesce((SELECT c.`+table+` FROM counters c WHERE c.workspace=t.workspace), 0)`, func(row *sqlite.Stmt) {
			report("ids: %s of workspace %d have the id %d, which was never issued", table, row.ColumnInt64(0), row.ColumnInt64(1))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// checkEntries makes sure that no place in a ledger can be taken again.
func checkEntries(c *conn, report func(string, ...any)) error {
	return c.each(`SELECT workspace, max(entry) FROM movements m GROUP BY workspace
		HAVING max(entry) > coalesce((SELECT c.entries FROM counters c WHERE c.workspace=m.workspace), 0)`, func(row *sqlite.Stmt) {
		report("ledger: workspace %d has the entry %d, which is beyond its last", row.ColumnInt64(0), row.ColumnInt64(1))
	})
}

func (c *conn) hasTable(name string) (bool, error) {
	return c.one("SELECT 1 FROM sqlite_schema WHERE type='table' AND name=?", func(*sqlite.Stmt) {}, name)
}

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

const selectLastEarlier = "SELECT coalesce(max(id), 0) FROM (SELECT max(id) AS id FROM pet_orders WHERE workspace=?1 AND pet=?2 AND complete=0" +
	" UNION ALL SELECT max(id) FROM pet_orders WHERE workspace=?1 AND pet=?2 AND complete=1)"

// latest checks the orders that a pet's row names, and returns how many of
// them are open.
func (k *ledgerCheck) latest(workspace int64, a *stored) (open int64) {
	if !k.recents || k.err != nil {
		return 0
	}
	if end, _ := a.recent.end(); a.recent.length%recentStep != 0 || a.recent.length > mostRecent || len(bytes.TrimRight(a.recent.bytes[end:], "\x00")) > 0 {
		k.report("lists: pet %d of workspace %d has something else behind its latest orders", a.ID, workspace)
	}
	last := k.count(selectLastEarlier, workspace, a.ID)
	if last > 0 && !a.recent.earlier() {
		k.report("lists: pet %d of workspace %d had orders before its latest, and its row does not say so", a.ID, workspace)
	}
	for id, complete := range a.recent.all() {
		if id <= last {
			k.report("lists: order %d of workspace %d, one of the latest of the pet %d, comes before the order %d", id, workspace, a.ID, last)
		}
		last = id
		k.order(workspace, a.ID, id, complete)
		if !complete {
			open++
		}
	}
	return open
}

// order checks an order that a pet is said to have.
func (k *ledgerCheck) order(workspace, pet, id int64, complete bool) {
	if k.err != nil {
		return
	}
	k.ordered[workspace]++
	o, err := find(k.c, selectOrder, workspace, id, scanOrder)
	switch {
	case err != nil:
		k.fail(err)
	case o == nil:
		k.report("lists: pet %d of workspace %d has the order %d, which does not exist", pet, workspace, id)
	case o.PetID != pet || o.Complete != complete:
		k.report("lists: order %d of workspace %d is of the pet %d, complete: %t, and listed for the pet %d, complete: %t",
			id, workspace, o.PetID, o.Complete, pet, complete)
	}
}

// orders checks those before the latest, and that none is missing: no order is
// counted twice, since each is of one pet, in one state, and there behind others.
func (k *ledgerCheck) orders() error {
	err := k.c.each("SELECT workspace, pet, id, complete FROM pet_orders", func(row *sqlite.Stmt) {
		k.order(row.ColumnInt64(0), row.ColumnInt64(1), row.ColumnInt64(2), row.ColumnBool(3))
	})
	if err != nil {
		return err
	}
	return k.c.each("SELECT workspace, count(*) FROM orders GROUP BY workspace", func(row *sqlite.Stmt) {
		if id, n := row.ColumnInt64(0), row.ColumnInt64(1); n != k.ordered[id] {
			k.report("lists: workspace %d has %d orders, and its pets account for %d", id, n, k.ordered[id])
		}
	})
}
