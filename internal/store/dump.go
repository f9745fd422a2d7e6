package store

import (
	"context"
	"fmt"
	"math"

	"example.com/petstore/internal/petstore"
)

// rowsAtOnce is how many rows of a table a dump holds, beside the ledgers.
const rowsAtOnce = 1000

const (
	dumpedCategories = "SELECT " + categoryColumns + " FROM categories WHERE workspace = $1 AND id > $2 ORDER BY id LIMIT $3"
	dumpedOrders     = "SELECT " + orderColumns + ` FROM orders
		WHERE workspace = $1 AND (pet, complete, id) > ($2, $3, $4) ORDER BY pet, complete, id LIMIT $5`
	selectLastIDs = "SELECT categories, pets, orders FROM counters WHERE workspace = $1"
)

// Dump implements [petstore.Bulk]. Nobody waits for it.
func (s *Store) Dump(ctx context.Context, workspace int64, to petstore.Sink) error {
	d := &dump{workspace: workspace, to: to}
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
	workspace int64
	to        petstore.Sink
	refused   error // what the sink said

	heads  pages[head]
	orders pages[petstore.Order]
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
	if err := d.categories(); err != nil {
		return err
	}
	return d.pets()
}

// taken notes what the sink said.
func (d *dump) taken(err error) error {
	d.refused = err
	return err
}

func (d *dump) categories() error {
	after := int64(0)
	categories := pages[petstore.Category]{read: func() (page []petstore.Category, err error) {
		page, err = all(d.tx, scanCategory, dumpedCategories, d.workspace, after, rowsAtOnce)
		if len(page) > 0 {
			after = page[len(page)-1].ID
		}
		return page, err
	}}
	for {
		c, err := categories.peek()
		if c == nil || err != nil {
			return err
		}
		if err := d.taken(d.to.Category(*c)); err != nil {
			return err
		}
		categories.drop()
	}
}

// pets gives the pets, and side by side with them the orders, which may be of pets that
// were deleted.
func (d *dump) pets() error {
	rest := petsOf(d.workspace)
	d.heads.read = func() (page []head, err error) {
		page, rest, err = readHeads(d.tx, rest)
		return page, err
	}
	var last petstore.Order
	d.orders.read = func() (page []petstore.Order, err error) {
		page, err = all(d.tx, scanOrder, dumpedOrders, d.workspace, last.PetID, last.Complete, last.ID, rowsAtOnce)
		if len(page) > 0 {
			last = page[len(page)-1]
		}
		return page, err
	}
	for {
		pet := int64(math.MaxInt64)
		h, err := d.heads.peek()
		if err != nil {
			return err
		}
		if h != nil {
			pet = h.key.id
		}
		if o, err := d.orders.peek(); err != nil {
			return err
		} else if o != nil && o.PetID < pet {
			h, pet = nil, o.PetID
		}
		if pet == math.MaxInt64 {
			return nil
		}
		if err := d.pet(pet, h); err != nil {
			return err
		}
	}
}

// pet gives a pet, unless it was deleted, its orders, the open ones before the complete
// ones, and its ledger. Without a head it has no ledger.
func (d *dump) pet(id int64, h *head) error {
	if h != nil && !h.gone {
		if err := d.taken(d.to.Pet(h.pet)); err != nil {
			return err
		}
	}
	for {
		o, err := d.orders.peek()
		if err != nil {
			return err
		}
		if o == nil || o.PetID != id {
			break
		}
		if err := d.taken(d.to.Order(*o)); err != nil {
			return err
		}
		d.orders.drop()
	}
	if h == nil {
		return nil
	}
	missing, err := h.oldestFirst(d.tx, func(m petstore.Movement) error { return d.taken(d.to.Movement(m)) })
	if err == nil && missing != 0 {
		err = fmt.Errorf("the ledger of pet %d of workspace %d lacks the movement %d", id, d.workspace, missing)
	}
	d.heads.drop()
	return err
}

// Pages are rows that are read a page at a time.
type pages[T any] struct {
	read  func() ([]T, error) // the next page, empty at the end
	rows  []T
	ended bool
}

// peek returns the row that it is at, nil at the end.
func (p *pages[T]) peek() (*T, error) {
	if len(p.rows) == 0 && !p.ended {
		rows, err := p.read()
		if err != nil {
			return nil, err
		}
		p.rows, p.ended = rows, len(rows) == 0
	}
	if p.ended {
		return nil, nil
	}
	return &p.rows[0], nil
}

func (p *pages[T]) drop() { p.rows = p.rows[1:] }
