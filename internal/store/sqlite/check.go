package sqlite

import (
	"context"
	"fmt"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store"
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
	found := store.Problems{}
	removing, err := store.CheckRemovals(accessTx{c}, found.Report)
	if err != nil {
		return nil, err
	}
	for _, check := range []struct {
		of    func(*conn, store.Report) error
		whole bool // all workspaces have to be
	}{
		{primeNames, false},
		{checkStructure, false},
		{checkReferences, false},
		{shared(store.CheckOrders), true},
		{shared(store.CheckCounters), true},
		{checkLedger, true},
		{checkNames, true},
	} {
		if check.whole && removing {
			continue
		}
		if err := check.of(c, found.Report); err != nil {
			return found, err
		}
	}
	return found, nil
}

// shared is a check of both stores.
func shared(check func(store.Tx, store.Report) error) func(*conn, store.Report) error {
	return func(c *conn, report store.Report) error { return check(accessTx{c}, report) }
}

func checkStructure(c *conn, report store.Report) error {
	for row, err := range c.query("PRAGMA integrity_check(100)") {
		if err != nil {
			return err
		}
		if text := row.ColumnText(0); text != "ok" {
			report("structure: %s", text)
		}
	}
	return nil
}

func checkReferences(c *conn, report store.Report) error {
	for row, err := range c.query("PRAGMA foreign_key_check") {
		if err != nil {
			return err
		}
		report("references: a row of %s names one of %s that does not exist", row.ColumnText(0), row.ColumnText(2))
	}
	return nil
}

// A ledgerCheck compares the pets with their ledgers, and counts the movements that
// belong to a pet.
type ledgerCheck struct {
	c      *conn
	report store.Report
	owned  map[int64]int64 // by workspace
}

const (
	checkedPets = "SELECT " + storedColumns + ", workspace," +
		" (SELECT count(*) FROM orders o WHERE o.workspace=pets.workspace AND o.pet=pets.id AND o.complete=0) FROM pets"
	deletedPets = "SELECT m.workspace, m.pet, p.id IS NOT NULL FROM movements m LEFT JOIN pets p ON p.workspace=m.workspace AND p.id=m.pet WHERE m.kind='deleted'"
	countLedger = `SELECT workspace, count(*), max(id) > coalesce((SELECT c.movements FROM counters c WHERE c.workspace=m.workspace), 0), max(id)
		FROM movements m GROUP BY workspace`
)

// checkLedger follows the ledgers of all pets from the last movement to the first.
func checkLedger(c *conn, report store.Report) error {
	k := &ledgerCheck{c: c, report: report, owned: map[int64]int64{}}
	for row, err := range c.query(checkedPets) {
		if err != nil {
			return err
		}
		if err := k.pet(scanStocked(row), row.ColumnInt64(8), row.ColumnInt64(9)); err != nil {
			return err
		}
	}
	for row, err := range c.query(deletedPets) {
		if err != nil {
			return err
		}
		if err := k.deleted(row.ColumnInt64(0), row.ColumnInt64(1), row.ColumnBool(2)); err != nil {
			return err
		}
	}
	for row, err := range c.query(countLedger) {
		if err != nil {
			return err
		}
		workspace, n := row.ColumnInt64(0), row.ColumnInt64(1)
		if n != k.owned[workspace] {
			report("ledger: workspace %d has %d movements, and its pets account for %d", workspace, n, k.owned[workspace])
		}
		if row.ColumnBool(2) {
			report("ids: movements of workspace %d have the id %d, which was never issued", workspace, row.ColumnInt64(3))
		}
	}
	return nil
}

// pet checks a pet of the catalogue, given how many of its orders are open.
func (k *ledgerCheck) pet(p petstore.StockedPet, workspace, open int64) error {
	name := fmt.Sprintf("ledger: pet %d of workspace %d", p.ID, workspace)
	l, err := k.follow(name, workspace, p.ID)
	compare := func(what string, have int64, source string, want int64) {
		if have != want {
			k.report("%s: %s is %d, and %s %d", name, what, have, source, want)
		}
	}
	if p.Quantity < 0 {
		k.report("%s: the quantity is %d", name, p.Quantity)
	}
	compare("the quantity", p.Quantity, "its last movement says", l.quantity)
	compare("the number of movements", p.Movements, "the last one is numbered", l.number)
	compare("the number of open orders", p.OpenOrders, "the ledger says", l.open)
	compare("the number of open orders", p.OpenOrders, "the orders say", open)
	return err
}

// deleted checks the ledger of a pet that was deleted.
func (k *ledgerCheck) deleted(workspace, pet int64, exists bool) error {
	name := fmt.Sprintf("ledger: pet %d of workspace %d", pet, workspace)
	if exists {
		k.report("%s was deleted, and is in the catalogue", name)
		return nil
	}
	l, err := k.follow(name, workspace, pet)
	if l.quantity != 0 {
		k.report("%s was deleted, and its movements leave %d", name, l.quantity)
	}
	return err
}

// An outcome is what a ledger says of its pet.
type outcome struct{ quantity, number, open int64 }

// follow reports where a ledger contradicts itself: each movement must count on from the
// one before, and move its quantity.
func (k *ledgerCheck) follow(name string, workspace, pet int64) (o outcome, err error) {
	var next *petstore.Movement
	before := int64(0)
	for row, err := range k.c.query(store.SelectLedger, workspace, pet, 0) {
		if err != nil {
			return o, err
		}
		m := scanMovement(row)
		before = row.ColumnInt64(7)
		k.owned[workspace]++
		switch m.Kind {
		case petstore.MovedPlaced:
			o.open++
		case petstore.MovedCompleted, petstore.MovedCancelled:
			o.open--
		}
		if next == nil {
			o.quantity, o.number = m.Quantity, m.Number
		} else {
			k.compare(name, next, &m)
		}
		next = &m
	}
	switch {
	case next == nil:
		k.report("%s: its ledger lacks the last movement", name)
	case before != 0:
		k.report("%s: its ledger lacks the movement %d", name, before)
	default:
		k.compare(name, next, &petstore.Movement{})
	}
	return o, nil
}

// compare reports if a movement does not follow from the one before.
func (k *ledgerCheck) compare(name string, m, before *petstore.Movement) {
	if m.Number != before.Number+1 {
		k.report("%s: the movement %d follows the movement %d", name, m.Number, before.Number)
	}
	if m.Quantity != before.Quantity+m.Delta {
		k.report("%s: the movement %d leaves %d, after %d and a change by %d", name, m.Number, m.Quantity, before.Quantity, m.Delta)
	}
}
