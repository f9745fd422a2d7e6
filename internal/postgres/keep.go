package postgres

import (
	"context"

	"example.com/petstore/internal/petstore"
	"github.com/jackc/pgx/v5"
)

// keep writes what the group decided and commits, in one round trip.
func (db *DB) keep(ctx context.Context, c *pgx.Conn, g *group) error {
	b := new(pgx.Batch)
	g.queueWrites(b)
	b.Queue("COMMIT")
	return confirmed(c, func() error { return c.SendBatch(ctx, b).Close() })
}

// kept are the effects of all members, row by row: of a row that several
// changed, the last state.
type kept struct {
	pets       kind[petstore.StockedPet]
	categories kind[petstore.Category]
	orders     kind[petstore.Order]
	movements  movements
	receipts   receipts
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
	var k kept
	for i := range g.members {
		if m := &g.members[i]; m.Err == nil {
			k.collect(m)
		}
	}
	queueCategories(b, insertCategories, k.categories.made)
	queueCategories(b, updateCategories, k.categories.changed)
	queuePets(b, insertPets, k.pets.made)
	queuePets(b, updatePets, k.pets.changed)
	queueOrders(b, insertOrders, k.orders.made)
	queueOrders(b, updateOrders, k.orders.changed)
	k.movements.queue(b)
	queueDrop(b, dropOrders, k.orders.dropped)
	queueDrop(b, dropPets, k.pets.dropped)
	queueDrop(b, dropCategories, k.categories.dropped)
	k.receipts.queue(b, g.lived)
	g.queueEvents(b)
}

// collect adds the effects of a member that has succeeded.
func (k *kept) collect(m *member) {
	w, e := m.Job.change.Workspace, &m.effects
	if p := e.SavePet; p != nil {
		k.pets.save(rowID{w, p.ID}, p, m.made.pet)
	}
	if c := e.SaveCategory; c != nil {
		k.categories.save(rowID{w, c.ID}, c, m.made.category)
	}
	if o := e.SaveOrder; o != nil {
		k.orders.save(rowID{w, o.ID}, o, m.made.order)
	}
	k.pets.drop(rowID{w, e.DropPet})
	k.categories.drop(rowID{w, e.DropCategory})
	k.orders.drop(rowID{w, e.DropOrder})
	if e.Movement != nil {
		k.movements.add(w, e.Movement)
	}
	if m.receipt != nil {
		k.receipts = append(k.receipts, m)
	}
}
