package store

import (
	"slices"

	"example.com/petstore/internal/petstore"
)

// Write gives the new rows their ids, in the order of the changes, and adds the
// statements for all effects: rows before those that refer to them, and existing rows in
// the order of their keys. Of a row that several changed, the last state is written.
func (g *Group) Write(b *Batch) error {
	if g.whole && slices.ContainsFunc(g.changes, func(m groupedChange) bool { return m.err != nil }) {
		return petstore.ErrRefused
	}
	if err := g.finish(); err != nil {
		return err
	}
	g.each(func(m *groupedChange) {
		if m.inserted.category {
			b.Exec(categoryTable.insert, categoryTable.values(m.workspace.id, m.effects.SaveCategory)...)
		}
	})
	updateAll(b, categoryTable, g.categories)
	g.each(func(m *groupedChange) {
		if m.inserted.pet {
			g.insertPet(b, m)
		}
	})
	g.updatePets(b)
	g.each(func(m *groupedChange) {
		if m.inserted.order {
			b.Exec(insertOrder, append(orderTable.values(m.workspace.id, m.effects.SaveOrder), m.movement.id)...)
		}
	})
	updateAll(b, orderTable, g.orders)
	g.each(func(m *groupedChange) {
		if m.effects.Movement != nil {
			b.Exec(movementTable.insert, movementTable.values(m.workspace.id, &m.movement)...)
		}
	})
	removeAll(b, orderTable, g.orders)
	g.removePets(b)
	removeAll(b, categoryTable, g.categories)
	g.keepReceipts(b)
	g.addEvents(b)
	return nil
}

// finish gives the new rows their ids, asks for the receipts and collects the events.
func (g *Group) finish() error {
	for i := range g.changes {
		m := &g.changes[i]
		if !m.effective() {
			continue
		}
		if err := g.finishOne(m); err != nil {
			if len(g.changes) > 1 {
				return ErrApart
			}
			*m = groupedChange{change: m.change, workspace: m.workspace}
			m.err, m.workspace.events = err, nil
			g.pets, g.categories, g.orders = nil, nil, nil // nothing is written
		}
	}
	return nil
}

func (g *Group) finishOne(m *groupedChange) error {
	if err := g.number(m); err != nil {
		return err
	}
	if !g.store.options.NoEvents {
		m.workspace.events = append(m.workspace.events, m.effects.Events(g.now, m.RequestID)...)
	}
	if m.Idempotency == nil {
		return nil
	}
	m.guard(func() error {
		r := m.Receipt()
		m.receipt = &r
		return nil
	})
	return m.err
}

// each calls f for each change that has decided something.
func (g *Group) each(f func(*groupedChange)) {
	for i := range g.changes {
		if m := &g.changes[i]; m.effective() {
			f(m)
		}
	}
}

func (g *Group) insertPet(b *Batch, m *groupedChange) {
	p := storedPet{StockedPet: *m.effects.SavePet}
	if m.effects.Movement != nil {
		p.lastMovement = m.movement.id
	}
	b.Exec(petTable.insert, petTable.values(m.workspace.id, &p)...)
	if g.dialect.Rename != nil {
		g.dialect.Rename(b, m.workspace.id, p.ID, "", petstore.Fold(p.Name))
	}
}

// keysOf returns the keys of the rows that are so, ascending.
func keysOf[T any](rows map[rowID]T, is func(T) bool) []rowID {
	keys := make([]rowID, 0, len(rows))
	for id, row := range rows {
		if is(row) {
			keys = append(keys, id)
		}
	}
	slices.SortFunc(keys, rowID.compare)
	return keys
}

func updateAll[T any](b *Batch, t *table[T], rows map[rowID]*loadedRow[T]) {
	for _, id := range keysOf(rows, func(r *loadedRow[T]) bool { return r.changed && !r.gone }) {
		b.Exec(t.update, t.values(id.workspace, &rows[id].row)...)
	}
}

func removeAll[T any](b *Batch, t *table[T], rows map[rowID]*loadedRow[T]) {
	for _, id := range keysOf(rows, func(r *loadedRow[T]) bool { return r.gone }) {
		b.Exec(t.remove, id.id, id.workspace)
	}
}

func (g *Group) updatePets(b *Batch) {
	for _, id := range keysOf(g.pets, func(p *loadedPet) bool { return p.changed && !p.gone }) {
		p := g.pets[id]
		if p.row.Pet == p.loaded {
			b.Exec(updateStock, stockValues(id.workspace, &p.row)...)
			continue
		}
		b.Exec(petTable.update, petTable.values(id.workspace, &p.row)...)
		g.rename(b, id, p, petstore.Fold(p.row.Name))
	}
}

func (g *Group) removePets(b *Batch) {
	for _, id := range keysOf(g.pets, func(p *loadedPet) bool { return p.gone }) {
		g.rename(b, id, g.pets[id], "")
		b.Exec(petTable.remove, id.id, id.workspace)
	}
}

// rename changes the name by which a pet is found.
func (g *Group) rename(b *Batch, id rowID, p *loadedPet, after string) {
	if before := petstore.Fold(p.loaded.Name); g.dialect.Rename != nil && before != after {
		g.dialect.Rename(b, id.workspace, id.id, before, after)
	}
}

// insertEvent gives an event the id that is $2 before the last, as RaiseFeed left it.
const insertEvent = `INSERT INTO events (workspace, id, at, type, request, data, previous)
	VALUES ($1, (SELECT last FROM feeds WHERE workspace = $1) - $2, $3, $4, $5, $6, $7)`

// addEvents adds the statements that write the events. Feeds are raised in the order of
// the workspaces, and stay locked until the commit: so nobody sees an id before all
// smaller ones. They must be the last statements of their transaction that can wait.
func (g *Group) addEvents(b *Batch) {
	for _, w := range g.workspaces {
		if len(w.events) == 0 {
			continue
		}
		b.Query(nil, RaiseFeed, w.id, len(w.events))
		for i := range w.events {
			e := &w.events[i]
			b.Exec(insertEvent, w.id, len(w.events)-1-i, e.CreatedAt.Millis, string(e.Type), e.RequestID, string(e.Data), string(e.Previous))
		}
	}
}
