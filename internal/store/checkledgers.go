package store

import (
	"fmt"

	"example.com/petstore/internal/petstore"
)

const (
	// selectSuccessions selects all movements, each with the one before it.
	selectSuccessions = "SELECT m.workspace, m.pet, m.kind, m.number, m.delta, m.quantity, m.before, coalesce(b.id, 0), coalesce(b.number, 0), coalesce(b.quantity, 0)" +
		" FROM movements m LEFT JOIN movements b ON b.workspace = m.workspace AND b.id = m.before AND b.pet = m.pet AND b.id < m.id ORDER BY m.workspace, m.id"

	// selectOutcomes selects all pets, each with its last movement and the number of its
	// open orders.
	selectOutcomes = "SELECT p.workspace, p.id, p.quantity, p.movements, p.open_orders, coalesce(m.kind, ''), coalesce(m.number, 0), coalesce(m.quantity, 0)," +
		" (SELECT count(*) FROM orders o WHERE o.workspace = p.workspace AND o.pet = p.id AND o.complete = FALSE)" +
		" FROM pets p LEFT JOIN movements m ON m.workspace = p.workspace AND m.id = p.last_movement AND m.pet = p.id ORDER BY p.workspace, p.id"
)

// checkLedgers compares each movement with the one before it, and each pet with its last
// movement, its ledger and its orders.
func checkLedgers(tx Tx, report Report) error {
	c := &ledgerCheck{report: report, open: map[rowID]int64{}, all: map[int64]int64{}, owned: map[int64]int64{}}
	if err := Each(tx, selectSuccessions, c.movement); err != nil {
		return err
	}
	if err := Each(tx, selectOutcomes, c.pet); err != nil {
		return err
	}
	for workspace, n := range c.all {
		if n != c.owned[workspace] {
			report("ledger: workspace %d has %d movements, and its pets account for %d", workspace, n, c.owned[workspace])
		}
	}
	return nil
}

type ledgerCheck struct {
	report     Report
	open       map[rowID]int64 // open orders of pets that have some, by their ledgers
	all, owned map[int64]int64 // movements of workspaces, and those that are of a pet
}

// movement reports if a movement does not follow from the one before.
func (c *ledgerCheck) movement(row Row) error {
	var (
		pet          rowID
		m, before    petstore.Movement
		beforeID, id int64
	)
	err := row.Scan(&pet.workspace, &pet.id, (*string)(&m.Kind), &m.Number, &m.Delta, &m.Quantity, &beforeID, &id, &before.Number, &before.Quantity)
	switch {
	case id != beforeID:
		c.report("ledger: %v: its ledger lacks the movement %d", pet, beforeID)
	case m.Number != before.Number+1:
		c.report("ledger: %v: the movement %d follows the movement %d", pet, m.Number, before.Number)
	case m.Quantity != before.Quantity+m.Delta:
		c.report("ledger: %v: the movement %d leaves %d, after %d and a change by %d", pet, m.Number, m.Quantity, before.Quantity, m.Delta)
	}
	c.all[pet.workspace]++
	switch m.Kind {
	case petstore.MovedPlaced:
		c.open[pet]++
	case petstore.MovedCompleted, petstore.MovedCancelled:
		if c.open[pet]--; c.open[pet] == 0 {
			delete(c.open, pet)
		}
	case petstore.MovedDeleted:
		c.owned[pet.workspace] += m.Number
		if m.Quantity != 0 {
			c.report("ledger: %v was deleted, and its movements leave %d", pet, m.Quantity)
		}
	}
	return err
}

// pet reports where a pet differs from its ledger and its orders.
func (c *ledgerCheck) pet(row Row) error {
	var (
		pet    rowID
		p      petstore.StockedPet
		last   petstore.Movement
		orders int64
	)
	err := row.Scan(&pet.workspace, &pet.id, &p.Quantity, &p.Movements, &p.OpenOrders, (*string)(&last.Kind), &last.Number, &last.Quantity, &orders)
	same := func(what string, have int64, source string, want int64) {
		if have != want {
			c.report("ledger: %v: %s is %d, and %s %d", pet, what, have, source, want)
		}
	}
	switch last.Kind {
	case "":
		c.report("ledger: %v: its ledger lacks the last movement", pet)
	case petstore.MovedDeleted:
		c.report("ledger: %v was deleted, and is in the catalogue", pet)
	default:
		c.owned[pet.workspace] += last.Number
	}
	same("the quantity", p.Quantity, "its last movement says", last.Quantity)
	same("the number of movements", p.Movements, "the last one is numbered", last.Number)
	same("the number of open orders", p.OpenOrders, "the ledger says", c.open[pet])
	same("the number of open orders", p.OpenOrders, "the orders say", orders)
	return err
}

// String names a pet.
func (a rowID) String() string { return fmt.Sprintf("pet %d of workspace %d", a.id, a.workspace) }
