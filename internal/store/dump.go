package store

import (
	"context"
	"fmt"

	"example.com/petstore/internal/petstore"
)

const (
	dumpedCategories = "SELECT " + categoryColumns + " FROM categories WHERE workspace = $1 ORDER BY id"
	selectLastIDs    = "SELECT categories, pets, orders FROM counters WHERE workspace = $1"
)

// Dump implements [petstore.Bulk]. Nobody waits for it.
func (s *Store) Dump(ctx context.Context, workspace int64, to petstore.Sink) error {
	d := &dump{ledgers: s.options.Dialect.Ledgers("ASC"), workspace: workspace, to: to}
	err := s.db.Snapshot(ctx, func(tx Tx) error {
		d.tx = tx
		return d.run()
	})
	if d.refused != nil {
		return d.refused
	}
	return err
}

// A dump gives a workspace to a sink.
type dump struct {
	tx        Tx
	ledgers   string
	workspace int64
	to        petstore.Sink
	refused   error // what the sink said
}

// taken notes what the sink said.
func (d *dump) taken(err error) error {
	d.refused = err
	return err
}

func (d *dump) run() error {
	if err := Ready(d.tx, d.workspace); err != nil {
		return err
	}
	var last petstore.LastIDs
	_, err := one(d.tx, selectLastIDs, func(row Row) error { return row.Scan(&last.Categories, &last.Pets, &last.Orders) }, d.workspace)
	if err != nil {
		return err
	}
	if err := d.taken(d.to.Begin(last)); err != nil {
		return err
	}
	err = each(d.tx, dumpedCategories, func(row Row) error {
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

// pets gives the pets, each with its orders, the open ones before the complete ones, and
// its ledger. Orders and ledgers may be of pets that were deleted.
func (d *dump) pets() error {
	pets, err := openPets(d.tx, d.workspace, d.workspace)
	defer pets.close()
	if err != nil {
		return err
	}
	orders, err := openOrders(d.tx, d.workspace, d.workspace)
	defer orders.close()
	if err != nil {
		return err
	}
	ledgers, err := openLedgers(d.tx, d.ledgers, d.workspace, d.workspace)
	defer ledgers.close()
	for err == nil {
		pet := pets.at
		for _, other := range []rowID{orders.at, ledgers.at} {
			if other.compare(pet) < 0 {
				pet = other
			}
		}
		if pet == noPet {
			return nil
		}
		if err = pets.of(pet, func(p *storedPet) error { return d.taken(d.to.Pet(p.StockedPet)) }); err != nil {
			break
		}
		if err = orders.of(pet, func(o *petstore.Order) error { return d.taken(d.to.Order(*o)) }); err != nil {
			break
		}
		number := int64(0)
		err = ledgers.of(pet, func(m *storedMovement) error {
			if number++; m.Number != number {
				return fmt.Errorf("%w: the ledger of pet %d of workspace %d lacks the movement %d", ErrDamaged, pet.id, pet.workspace, number)
			}
			return d.taken(d.to.Movement(m.Movement))
		})
	}
	return err
}
