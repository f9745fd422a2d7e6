package store

import (
	"fmt"

	"example.com/petstore/internal/petstore"
)

// checkLedgers follows the ledgers of all pets, those that were deleted included, from the
// last movement to the first, and holds the pets against them.
func checkLedgers(tx Tx, report Report) error {
	c := &ledgerCheck{tx: tx, report: report, owned: map[int64]int64{}}
	for rest := everyPet; ; {
		from := rest.after
		heads, next, err := readHeads(tx, rest)
		if err != nil {
			return err
		}
		if len(heads) == 0 {
			break
		}
		rest = next
		open, err := openOrders(tx, span{from, rest.after})
		if err != nil {
			return err
		}
		for i := range heads {
			if err := c.check(&heads[i], open[heads[i].key]); err != nil {
				return err
			}
		}
	}
	if err := c.checkDeleted(); err != nil {
		return err
	}
	return c.checkCounts()
}

var selectOpenOrders = "SELECT workspace, pet, count(*) FROM orders WHERE complete = FALSE AND " + inSpan("workspace, pet") + " GROUP BY workspace, pet"

// openOrders returns how many orders of the pets in a span are open.
func openOrders(tx Tx, s span) (map[petKey]int64, error) {
	open := map[petKey]int64{}
	err := each(tx, selectOpenOrders, func(row Row) error {
		var (
			pet petKey
			n   int64
		)
		err := row.Scan(&pet.workspace, &pet.id, &n)
		open[pet] = n
		return err
	}, s.args()...)
	return open, err
}

// A ledgerCheck compares the pets with their ledgers, and counts the movements that belong
// to a pet.
type ledgerCheck struct {
	tx     Tx
	report Report
	owned  map[int64]int64 // by workspace
}

// check looks at a pet, or one that was deleted, given how many of its orders are open.
func (c *ledgerCheck) check(h *head, open int64) error {
	name := fmt.Sprintf("ledger: pet %d of workspace %d", h.key.id, h.key.workspace)
	l, err := c.follow(name, h)
	if err != nil {
		return err
	}
	if h.gone {
		if l.quantity != 0 {
			c.report("%s was deleted, and its movements leave %d", name, l.quantity)
		}
		return nil
	}
	compare := func(what string, have int64, source string, want int64) {
		if have != want {
			c.report("%s: %s is %d, and %s %d", name, what, have, source, want)
		}
	}
	p := &h.pet
	if p.Quantity < 0 {
		c.report("%s: the quantity is %d", name, p.Quantity)
	}
	compare("the quantity", p.Quantity, "its last movement says", l.quantity)
	compare("the number of movements", p.Movements, "the last one is numbered", l.number)
	compare("the number of open orders", p.OpenOrders, "the ledger says", l.open)
	compare("the number of open orders", p.OpenOrders, "the orders say", open)
	return nil
}

// An outcome is what a ledger says of its pet.
type outcome struct{ quantity, number, open int64 }

// follow reports where a ledger contradicts itself: each movement must count on from the
// one before, and move its quantity.
func (c *ledgerCheck) follow(name string, h *head) (o outcome, err error) {
	var next *storedMovement
	err = h.pieces(c.tx, func(piece []storedMovement) error {
		for i := range piece {
			l := &piece[i]
			c.owned[h.key.workspace]++
			switch l.Kind {
			case petstore.MovedPlaced:
				o.open++
			case petstore.MovedCompleted, petstore.MovedCancelled:
				o.open--
			}
			if next == nil {
				o.quantity, o.number = l.Quantity, l.Number
			} else {
				c.compare(name, &next.Movement, &l.Movement)
			}
			next = l
		}
		return nil
	})
	switch {
	case err != nil:
	case next == nil:
		c.report("%s: its ledger lacks the last movement", name)
	case next.before != 0:
		c.report("%s: its ledger lacks the movement %d", name, next.before)
	default:
		c.compare(name, &next.Movement, &petstore.Movement{})
	}
	return o, err
}

// compare reports if a movement does not follow from the one before.
func (c *ledgerCheck) compare(name string, m, before *petstore.Movement) {
	if m.Number != before.Number+1 {
		c.report("%s: the movement %d follows the movement %d", name, m.Number, before.Number)
	}
	if m.Quantity != before.Quantity+m.Delta {
		c.report("%s: the movement %d leaves %d, after %d and a change by %d", name, m.Number, m.Quantity, before.Quantity, m.Delta)
	}
}

// checkDeleted looks for pets that were deleted, and are there.
func (c *ledgerCheck) checkDeleted() error {
	return each(c.tx, `SELECT m.workspace, m.pet FROM movements m JOIN pets p ON p.workspace = m.workspace AND p.id = m.pet
		WHERE m.kind = 'deleted'`, func(row Row) error {
		var pet petKey
		err := row.Scan(&pet.workspace, &pet.id)
		c.report("ledger: pet %d of workspace %d was deleted, and is in the catalogue", pet.id, pet.workspace)
		return err
	})
}

// checkCounts looks for movements that are in no ledger, and ids that can be issued again.
func (c *ledgerCheck) checkCounts() error {
	return each(c.tx, `SELECT workspace, count(*), max(id), coalesce((SELECT c.movements FROM counters c WHERE c.workspace = m.workspace), 0)
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
