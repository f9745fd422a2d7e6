package postgres

import (
	"context"
	"errors"
	"fmt"
	"math"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store"
	"github.com/jackc/pgx/v5"
)

// fetchAtOnce is how many rows of a table a dump holds.
const fetchAtOnce = 1000

// Dump gives to everything that the workspace has, as it was at one instant, in
// the order that [petstore.Bulk] says. Nobody waits for it. It stops at to's first
// error and returns it.
func (db *DB) Dump(ctx context.Context, workspace int64, to petstore.Sink) error {
	err := db.inSnapshot(ctx, func(tx accessTx) error { return dump{tx, workspace, to}.run() })
	if refused, ok := errors.AsType[*sinkError](err); ok {
		return refused.cause
	}
	return err
}

// A sinkError is what the sink of a dump failed with.
type sinkError struct{ cause error }

func (e *sinkError) Error() string { return e.cause.Error() }

// taken wraps what the sink said.
func taken(err error) error {
	if err == nil {
		return nil
	}
	return &sinkError{err}
}

type dump struct {
	accessTx
	workspace int64
	to        petstore.Sink
}

func (d dump) run() error {
	if err := store.Ready(d, d.workspace); err != nil {
		return err
	}
	var last petstore.LastIDs
	err := d.QueryRow(d.ctx, "SELECT categories, pets, orders FROM counters WHERE workspace = $1", d.workspace).
		Scan(&last.Categories, &last.Pets, &last.Orders)
	if err != nil {
		return err
	}
	if err := taken(d.to.Begin(last)); err != nil {
		return err
	}
	if err := d.merge(d.categories()); err != nil {
		return err
	}
	return d.merge(d.pets(), d.orders(), d.movements())
}

func (d dump) categories() feeder {
	return &stream[petstore.Category]{
		name: "categories", query: "SELECT " + categoryColumns + " FROM categories WHERE workspace = $1 ORDER BY id",
		scan: scanCategory, take: d.to.Category, id: func(c *petstore.Category) int64 { return c.ID },
	}
}

func (d dump) pets() feeder {
	return &stream[petstore.StockedPet]{
		name: "pets", query: "SELECT " + stockedPetColumns + " FROM pets WHERE workspace = $1 ORDER BY id",
		scan: scanStockedPet, take: d.to.Pet, id: func(p *petstore.StockedPet) int64 { return p.ID },
	}
}

func (d dump) orders() feeder {
	return &stream[petstore.Order]{
		name: "orders", query: "SELECT " + orderColumns + " FROM orders WHERE workspace = $1 ORDER BY pet, complete, id",
		scan: scanOnlyOrder, take: d.to.Order, id: func(o *petstore.Order) int64 { return o.PetID },
	}
}

func (d dump) movements() feeder {
	return &stream[petstore.Movement]{
		name: "movements", query: "SELECT " + movementColumns + " FROM movements WHERE workspace = $1 ORDER BY pet, number",
		scan: scanMovement, take: d.to.Movement, id: func(m *petstore.Movement) int64 { return m.PetID },
	}
}

// merge gives the rows of all streams side by side, in the order of their ids.
func (d dump) merge(streams ...feeder) error {
	for _, f := range streams {
		if err := f.open(d); err != nil {
			return err
		}
	}
	for {
		id := int64(math.MaxInt64)
		for _, f := range streams {
			next, err := f.next(d)
			if err != nil {
				return err
			}
			id = min(id, next)
		}
		if id == math.MaxInt64 {
			return nil
		}
		for _, f := range streams {
			if err := f.give(d, id); err != nil {
				return err
			}
		}
	}
}

// A feeder walks over rows in ascending order of an id.
type feeder interface {
	open(dump) error
	next(dump) (int64, error) // the id of the row it is at; MaxInt64 at the end
	give(dump, int64) error   // the rows of an id to the sink
}

// A stream reads a cursor of the server, a part at a time.
type stream[T any] struct {
	name, query string
	scan        func(pgx.Row, *T) error
	id          func(*T) int64
	take        func(T) error

	rows  []T // fetched and not yet given
	ended bool
}

func (f *stream[T]) open(d dump) error {
	_, err := d.Exec("DECLARE dump_"+f.name+" NO SCROLL CURSOR FOR "+f.query, d.workspace)
	return err
}

func (f *stream[T]) next(d dump) (int64, error) {
	if len(f.rows) == 0 && !f.ended {
		rows, err := collect(d.ctx, d.querier, f.scan, fmt.Sprintf("FETCH %d FROM dump_%s", fetchAtOnce, f.name))
		if err != nil {
			return 0, err
		}
		f.rows, f.ended = rows, len(rows) < fetchAtOnce
	}
	if len(f.rows) == 0 {
		return math.MaxInt64, nil
	}
	return f.id(&f.rows[0]), nil
}

func (f *stream[T]) give(d dump, id int64) error {
	for {
		at, err := f.next(d)
		if err != nil || at != id {
			return err
		}
		if err := taken(f.take(f.rows[0])); err != nil {
			return err
		}
		f.rows = f.rows[1:]
	}
}

const stockedPetColumns = petColumns + ", quantity, open_orders, movements"

func scanStockedPet(row pgx.Row, p *petstore.StockedPet) error {
	return row.Scan(&p.ID, &p.Name, &p.CategoryID, &p.Status, &p.Quantity, &p.OpenOrders, &p.Movements)
}
