package store

import (
	"fmt"
	"math"

	"example.com/petstore/internal/petstore"
)

// selectOpenOrders counts in the index of orders by pet. With a condition for the open ones
// PostgreSQL would rather sort.
const selectOpenOrders = "SELECT workspace, pet, sum(CASE WHEN complete THEN 0 ELSE 1 END) FROM orders GROUP BY workspace, pet ORDER BY workspace, pet"

// checkLedgers follows the ledgers of all pets, those that were deleted included, from the
// last movement to the first, and holds the pets against them.
func checkLedgers(tx Tx, ledgers string, report Report) error {
	c := &ledgerCheck{report: report, owned: map[int64]int64{}}
	err := c.open(tx, ledgers)
	defer c.close()
	for err == nil && (c.pets.at != noPet || c.ledgers.at != noPet) {
		if c.ledgers.at.compare(c.pets.at) < 0 {
			err = c.deleted(c.ledgers.at)
		} else {
			err = c.pet(c.pets.at)
		}
	}
	if err != nil {
		return err
	}
	return c.counts(tx)
}

// A ledgerCheck compares the pets with their ledgers, and counts the movements that belong
// to a pet.
type ledgerCheck struct {
	report  Report
	owned   map[int64]int64 // by workspace
	pets    *stream[storedPet]
	orders  *stream[int64] // how many are open
	ledgers *stream[storedMovement]
}

func (c *ledgerCheck) open(tx Tx, ledgers string) (err error) {
	if c.pets, err = openPets(tx, 0, math.MaxInt64); err != nil {
		return err
	}
	c.orders, err = open(tx, func(row Row, n *int64) (pet rowID, err error) {
		err = row.Scan(&pet.workspace, &pet.id, n)
		return pet, err
	}, selectOpenOrders)
	if err != nil {
		return err
	}
	c.ledgers, err = openLedgers(tx, ledgers, 0, math.MaxInt64)
	return err
}

func (c *ledgerCheck) close() {
	c.pets.close()
	c.orders.close()
	c.ledgers.close()
}

// pet checks a pet of the catalogue.
func (c *ledgerCheck) pet(pet rowID) error {
	p := c.pets.row
	name := fmt.Sprintf("ledger: pet %d of workspace %d", pet.id, pet.workspace)
	l, err := c.follow(name, pet, p.lastMovement)
	if err != nil {
		return err
	}
	for open := int64(0); ; {
		switch {
		case c.orders.at.compare(pet) < 0: // of a pet that was deleted
		case c.orders.at == pet:
			open = c.orders.row
		default:
			c.compare(name, &p, l, open)
			return c.pets.advance()
		}
		if err := c.orders.advance(); err != nil {
			return err
		}
	}
}

// compare reports where a pet is not as its ledger and its orders say.
func (c *ledgerCheck) compare(name string, p *storedPet, l outcome, open int64) {
	same := func(what string, have int64, source string, want int64) {
		if have != want {
			c.report("%s: %s is %d, and %s %d", name, what, have, source, want)
		}
	}
	if p.Quantity < 0 {
		c.report("%s: the quantity is %d", name, p.Quantity)
	}
	if l.deleted {
		c.report("%s was deleted, and is in the catalogue", name)
	}
	same("the quantity", p.Quantity, "its last movement says", l.quantity)
	same("the number of movements", p.Movements, "the last one is numbered", l.number)
	same("the number of open orders", p.OpenOrders, "the ledger says", l.open)
	same("the number of open orders", p.OpenOrders, "the orders say", open)
}

// deleted checks the ledger of a pet that is not in the catalogue.
func (c *ledgerCheck) deleted(pet rowID) error {
	if c.ledgers.row.Kind != petstore.MovedDeleted { // nobody's, which the counts tell
		return c.ledgers.of(pet, func(*storedMovement) error { return nil })
	}
	name := fmt.Sprintf("ledger: pet %d of workspace %d", pet.id, pet.workspace)
	l, err := c.follow(name, pet, c.ledgers.row.id)
	if l.quantity != 0 {
		c.report("%s was deleted, and its movements leave %d", name, l.quantity)
	}
	return err
}

// An outcome is what a ledger says of its pet.
type outcome struct {
	quantity, number, open int64
	deleted                bool
}

// follow reports where the ledger of a pet, which ends at the movement with the id last,
// contradicts itself: each movement must count on from the one before, and move its
// quantity. Movements that no other one leads to are passed over.
func (c *ledgerCheck) follow(name string, pet rowID, last int64) (o outcome, err error) {
	var next storedMovement
	expected := last
	err = c.ledgers.of(pet, func(m *storedMovement) error {
		if m.id != expected {
			return nil
		}
		c.owned[pet.workspace]++
		switch m.Kind {
		case petstore.MovedPlaced:
			o.open++
		case petstore.MovedCompleted, petstore.MovedCancelled:
			o.open--
		}
		if next.id == 0 {
			o.quantity, o.number, o.deleted = m.Quantity, m.Number, m.Kind == petstore.MovedDeleted
		} else {
			c.succeeds(name, &next.Movement, &m.Movement)
		}
		next, expected = *m, m.before
		return nil
	})
	switch {
	case err != nil:
	case next.id == 0:
		c.report("%s: its ledger lacks the last movement", name)
	case expected != 0:
		c.report("%s: its ledger lacks the movement %d", name, expected)
	default:
		c.succeeds(name, &next.Movement, &petstore.Movement{})
	}
	return o, err
}

// succeeds reports if a movement does not follow from the one before.
func (c *ledgerCheck) succeeds(name string, m, before *petstore.Movement) {
	if m.Number != before.Number+1 {
		c.report("%s: the movement %d follows the movement %d", name, m.Number, before.Number)
	}
	if m.Quantity != before.Quantity+m.Delta {
		c.report("%s: the movement %d leaves %d, after %d and a change by %d", name, m.Number, m.Quantity, before.Quantity, m.Delta)
	}
}

// counts looks for movements that are in no ledger, and ids that can be issued again.
func (c *ledgerCheck) counts(tx Tx) error {
	return each(tx, `SELECT workspace, count(*), max(id), coalesce((SELECT c.movements FROM counters c WHERE c.workspace = m.workspace), 0)
		FROM movements m GROUP BY workspace`, func(row Row) error {
		var workspace, n, last, issued int64
		err := row.Scan(&workspace, &n, &last, &issued)
		if n != c.owned[workspace] {
			c.report("ledger: workspace %d has %d movements, and its pets account for %d", workspace, n, c.owned[workspace])
		}
		if last > issued {
			c.report("ids: movements of workspace %d have the id %d, which was never issued", workspace, last)
		}
		return err
	})
}
