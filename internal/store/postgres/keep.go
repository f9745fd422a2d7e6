package postgres

import (
	"context"

	"example.com/petstore/internal/petstore"
	"github.com/jackc/pgx/v5"
)

// write sends what the group has decided to the database and commits, in one round trip.
func (db *DB) write(ctx context.Context, c *pgx.Conn, g *group) error {
	b := new(pgx.Batch)
	g.queueWrites(b)
	b.Queue("COMMIT")
	return confirmed(c, func() error { return c.SendBatch(ctx, b).Close() })
}

// writes are the effects of all changes, row by row: of a row that several
// changed, the last state.
type writes struct {
	pets       kind[storedPet]
	categories kind[petstore.Category]
	orders     kind[petstore.Order]
	movements  [][]any // values of the ledger
	receipts   []*groupedChange
}

// A kind holds the effects on the rows of one table.
type kind[T any] struct {
	made, changed map[rowID]*T
	dropped       []rowID
}

func (k *kind[T]) save(id rowID, row *T, made bool) {
	rows := &k.changed
	if made {
		rows = &k.made
	}
	if *rows == nil {
		*rows = make(map[rowID]*T)
	}
	(*rows)[id] = row
}

func (k *kind[T]) drop(id rowID) {
	if id.id != 0 {
		k.dropped = append(k.dropped, id)
		delete(k.changed, id)
	}
}

// queueWrites queues the statements for all effects: rows before those that
// refer to them, and all in the order of their keys, since other nodes may be
// writing the same receipts.
func (g *group) queueWrites(b *pgx.Batch) {
	var k writes
	for i := range g.changes {
		if m := &g.changes[i]; m.Err == nil {
			k.collect(m, g.last)
		}
	}
	categoryTable.queue(b, categoryTable.insert, k.categories.made)
	categoryTable.queue(b, categoryTable.update, k.categories.changed)
	petTable.queue(b, petTable.insert, k.pets.made)
	petTable.queue(b, petTable.update, k.pets.changed)
	orderTable.queue(b, orderTable.insert, k.orders.made)
	orderTable.queue(b, orderTable.update, k.orders.changed)
	for _, movement := range k.movements {
		b.Queue(movementTable.insert, movement...)
	}
	orderTable.queueErase(b, k.orders.dropped)
	petTable.queueErase(b, k.pets.dropped)
	categoryTable.queueErase(b, k.categories.dropped)
	g.queueNewReceipts(b, k.receipts)
	g.queueEvents(b)
}

// collect adds the effects of a change that has succeeded.
func (k *writes) collect(m *groupedChange, last map[rowID]int64) {
	w, e := m.Job.change.Workspace, &m.effects
	if p := e.SavePet; p != nil {
		k.pets.save(rowID{w, p.ID}, &storedPet{*p, last[rowID{w, p.ID}]}, m.inserted.pet)
	}
	if c := e.SaveCategory; c != nil {
		k.categories.save(rowID{w, c.ID}, c, m.inserted.category)
	}
	if o := e.SaveOrder; o != nil {
		k.orders.save(rowID{w, o.ID}, o, m.inserted.order)
	}
	k.pets.drop(rowID{w, e.DropPet})
	k.categories.drop(rowID{w, e.DropCategory})
	k.orders.drop(rowID{w, e.DropOrder})
	if e.Movement != nil {
		k.movements = append(k.movements, movementTable.values(w, &storedMovement{*e.Movement, m.movement, m.previous}))
	}
	if m.receipt != nil {
		k.receipts = append(k.receipts, m)
	}
}
