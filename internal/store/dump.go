package store

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"

	"example.com/petstore/internal/petstore"
)

const (
	dumpedCategories = "SELECT " + categoryColumns + " FROM categories WHERE workspace = $1 ORDER BY id"
	dumpedPets       = "SELECT " + petColumns + " FROM pets WHERE workspace = $1 ORDER BY id"
	dumpedOrders     = "SELECT " + orderColumns + " FROM orders WHERE workspace = $1 ORDER BY pet, complete, id"
	selectLastIDs    = "SELECT categories, pets, orders FROM counters WHERE workspace = $1"
)

// Dump implements [petstore.Bulk]. It locks nothing.
func (s *Store) Dump(ctx context.Context, workspace int64, to petstore.Sink) error {
	d := &dump{ledgers: s.dialect.Ledgers, workspace: workspace, to: to}
	err := s.db.Snapshot(ctx, func(tx Tx) error {
		d.tx = tx
		return d.run()
	})
	return cmp.Or(d.refused, err)
}

// A dump gives a workspace to a sink.
type dump struct {
	tx        Tx
	ledgers   string
	workspace int64
	to        petstore.Sink
	refused   error // of the sink
}

// taken keeps the error of the sink, so that Dump returns it unchanged.
func (d *dump) taken(err error) error {
	d.refused = err
	return err
}

func (d *dump) run() error {
	if err := CheckShop(d.tx, d.workspace, ""); err != nil {
		return err
	}
	var last petstore.LastIDs
	_, err := First(d.tx, selectLastIDs, func(row Row) error { return row.Scan(&last.Categories, &last.Pets, &last.Orders) }, d.workspace)
	if err != nil {
		return err
	}
	if err := d.taken(d.to.Begin(last)); err != nil {
		return err
	}
	err = Each(d.tx, dumpedCategories, func(row Row) error {
		var c petstore.Category
		if err := scanCategory(row, &c); err != nil {
			return err
		}
		return d.taken(d.to.Category(c))
	}, d.workspace)
	if err != nil {
		return err
	}
	return d.pets()
}

// pets gives the sink each pet with its orders, the open ones before the complete ones,
// and its ledger. The pets of some orders and ledgers may have been deleted.
func (d *dump) pets() error {
	last := petstore.Movement{} // the latest one
	queries := []*petRows{
		rowsByPet(d, dumpedPets, scanStockedPet, func(p *petstore.StockedPet) int64 { return p.ID },
			func(p *petstore.StockedPet) error { return d.taken(d.to.Pet(*p)) }),
		rowsByPet(d, dumpedOrders, scanOrder, func(o *petstore.Order) int64 { return o.PetID },
			func(o *petstore.Order) error { return d.taken(d.to.Order(*o)) }),
		rowsByPet(d, d.ledgers, func(row Row, m *petstore.Movement) error { return scanMovement(row, m) }, func(m *petstore.Movement) int64 { return m.PetID },
			func(m *petstore.Movement) error {
				number := int64(1)
				if m.PetID == last.PetID {
					number = last.Number + 1
				}
				if last = *m; m.Number != number {
					return fmt.Errorf("%w: the ledger of pet %d of workspace %d lacks the movement %d", ErrDamaged, m.PetID, d.workspace, number)
				}
				return d.taken(d.to.Movement(*m))
			}),
	}
	for _, q := range queries {
		defer q.stop()
		if err := q.next(); err != nil {
			return err
		}
	}
	for {
		pet := int64(noPet)
		for _, q := range queries {
			pet = min(pet, q.pet)
		}
		if pet == noPet {
			return nil
		}
		for _, q := range queries {
			for q.pet == pet {
				if err := q.give(); err != nil {
					return err
				}
				if err := q.next(); err != nil {
					return err
				}
			}
		}
	}
}

// noPet is greater than the id of any pet.
const noPet = math.MaxInt64

// petRows are the rows of a query, ordered by pet. They are merged with those of other
// queries.
type petRows struct {
	pet  int64        // of the current row; noPet at the end
	next func() error // goes to the next row
	give func() error // gives the current row to the sink
	stop func()
}

// rowsByPet returns the rows of a query of the workspace, before the first.
func rowsByPet[T any](d *dump, query string, scan func(Row, *T) error, petOf func(*T) int64, give func(*T) error) *petRows {
	next, stop := iter.Pull2(d.tx.Query(query, d.workspace))
	row, q := new(T), &petRows{stop: stop}
	q.give = func() error { return give(row) }
	q.next = func() error {
		r, err, there := next()
		if q.pet = noPet; err != nil || !there {
			return err
		}
		*row = *new(T)
		err = scan(r, row)
		q.pet = petOf(row)
		return err
	}
	return q
}
