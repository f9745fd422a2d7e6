package store

import (
	"fmt"
	"slices"
	"strings"

	"example.com/petstore/internal/petstore"
)

// Write gives the new rows their ids, in the order of the changes, and adds the
// statements for all effects: rows come before those that refer to them, and existing
// rows in the order of their keys. A row that several changes have changed is written
// once, in its last state.
func (g *Group) Write(b *Batch) error {
	if g.whole && slices.ContainsFunc(g.changes, func(m groupedChange) bool { return m.err != nil }) {
		return petstore.ErrRefused
	}
	if err := g.finish(); err != nil {
		return err
	}
	var categories, pets, orders, movements [][]any
	g.each(func(m *groupedChange) {
		if m.inserted.category {
			categories = append(categories, categoryTable.values(m.workspace.id, m.effects.SaveCategory))
		}
		if m.inserted.pet {
			pets = append(pets, g.newPet(b, m))
		}
		if m.inserted.order {
			orders = append(orders, placedTable.values(m.workspace.id, m))
		}
		if m.effects.Movement != nil {
			movements = append(movements, movementTable.values(m.workspace.id, &m.movement))
		}
	})
	g.dialect.write(b, categoryTable.insert, categories)
	updateAll(g, b, categoryTable, g.categories)
	g.dialect.write(b, petTable.insert, pets)
	g.updatePets(b)
	g.dialect.write(b, placedTable.insert, orders)
	updateAll(g, b, orderTable, g.orders)
	g.dialect.write(b, movementTable.insert, movements)
	removeAll(b, orderTable, g.orders)
	g.removePets(b)
	removeAll(b, categoryTable, g.categories)
	g.keepReceipts(b)
	for _, w := range g.workspaces {
		w.keepLetters(b)
	}
	g.addEvents(b)
	return nil
}

// finish gives the new rows their ids, makes the receipts and collects the events.
func (g *Group) finish() error {
	for i := range g.changes {
		m := &g.changes[i]
		if !m.effective() {
			continue
		}
		if err := g.finishOne(m); err != nil {
			if len(g.changes) > 1 {
				return ErrSplit
			}
			*m = groupedChange{change: m.change, workspace: m.workspace}
			m.err, m.workspace.events = err, nil
			g.pets, g.categories, g.orders = nil, nil, nil // nothing is written
		}
	}
	return nil
}

func (g *Group) finishOne(m *groupedChange) error {
	if err := g.assignIDs(m); err != nil {
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

// each calls f for each effective change.
func (g *Group) each(f func(*groupedChange)) {
	for i := range g.changes {
		if m := &g.changes[i]; m.effective() {
			f(m)
		}
	}
}

// newPet returns the row of a new pet, and adds its name to the index of names.
func (g *Group) newPet(b *Batch, m *groupedChange) []any {
	p := storedPet{StockedPet: *m.effects.SavePet}
	if m.effects.Movement != nil {
		p.lastMovement = m.movement.id
	}
	if g.dialect.Rename != nil {
		g.dialect.Rename(b, m.workspace.id, p.ID, "", petstore.Fold(p.Name))
	}
	return petTable.values(m.workspace.id, &p)
}

// keysOf returns the keys of the rows for which is returns true, in ascending order.
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

func updateAll[T any](g *Group, b *Batch, t *table[T], rows map[rowID]*loadedRow[T]) {
	var updates [][]any
	for _, id := range keysOf(rows, func(r *loadedRow[T]) bool { return r.changed && !r.gone }) {
		updates = append(updates, t.values(id.workspace, &rows[id].row))
	}
	g.dialect.write(b, t.update, updates)
}

func removeAll[T any](b *Batch, t *table[T], rows map[rowID]*loadedRow[T]) {
	for _, id := range keysOf(rows, func(r *loadedRow[T]) bool { return r.gone }) {
		b.Exec(t.remove, id.id, id.workspace)
	}
}

func (g *Group) updatePets(b *Batch) {
	var pets, stock [][]any
	for _, id := range keysOf(g.pets, func(p *loadedPet) bool { return p.changed && !p.gone }) {
		p := g.pets[id]
		if p.row.Pet == p.loaded {
			stock = append(stock, stockTable.values(id.workspace, &p.row))
			continue
		}
		pets = append(pets, petTable.values(id.workspace, &p.row))
		g.rename(b, id, p, petstore.Fold(p.row.Name))
	}
	g.dialect.write(b, petTable.update, pets)
	g.dialect.write(b, stockTable.update, stock)
}

func (g *Group) removePets(b *Batch) {
	for _, id := range keysOf(g.pets, func(p *loadedPet) bool { return p.gone }) {
		g.rename(b, id, g.pets[id], "")
		b.Exec(petTable.remove, id.id, id.workspace)
	}
}

// rename changes the name of a pet in the index of names.
func (g *Group) rename(b *Batch, id rowID, p *loadedPet, after string) {
	if before := petstore.Fold(p.loaded.Name); g.dialect.Rename != nil && before != after {
		g.dialect.Rename(b, id.workspace, id.id, before, after)
	}
}

// insertEvent inserts an event whose id is $2 less than the last one, which RaiseFeed
// has set.
var insertEvent = rowStatement{
	`INSERT INTO events (workspace, id, at, type, request, data, previous)
		VALUES ($1, (SELECT last FROM feeds WHERE workspace = $1) - $2, $3, $4, $5, $6, $7)`,
	`INSERT INTO events (workspace, id, at, type, request, data, previous)
		SELECT n.workspace, f.last - n.back, n.at, n.type, n.request, n.data, n.previous
		FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[])
			AS n (workspace, back, at, type, request, data, previous) JOIN feeds f ON f.workspace = n.workspace`,
}

// addEvents adds the statements that write the events. The rows of feeds are updated in
// the order of the workspaces, and stay locked until the commit, so that no reader sees
// an id before all smaller ones. These must be the last statements of their transaction
// that can wait for a lock.
func (g *Group) addEvents(b *Batch) {
	var events [][]any
	for _, w := range g.workspaces {
		if len(w.events) == 0 {
			continue
		}
		b.Query(nil, RaiseFeed, w.id, len(w.events))
		for i := range w.events {
			e := &w.events[i]
			events = append(events, []any{w.id, len(w.events) - 1 - i, e.CreatedAt.Millis, string(e.Type), e.RequestID, string(e.Data), string(e.Previous)})
		}
	}
	g.dialect.write(b, insertEvent, events)
}

// A table says how its rows are written. Its last two columns are the id and the
// workspace, by which a row is found.
type table[T any] struct {
	name           string
	columns        []string
	insert, update rowStatement                        // with the values of a row
	remove         string                              // with the id and the workspace
	values         func(workspace int64, row *T) []any // in the order of the columns
}

// A rowStatement writes one row, whose values are its arguments, or all of many: then its
// arguments are arrays, one for each column.
type rowStatement struct{ one, all string }

// newTable returns the table with the columns. Each is a name, or a name and a type;
// without a type it is bigint.
func newTable[T any](name, columns string, values func(workspace int64, row *T) []any) *table[T] {
	t := &table[T]{name: name, values: values}
	var places, arrays, sets, news []string
	for i, column := range strings.Split(columns+", id, workspace", ", ") {
		column, kind, said := strings.Cut(column, " ")
		if !said {
			kind = "bigint"
		}
		t.columns = append(t.columns, column)
		places = append(places, fmt.Sprintf("$%d", i+1))
		arrays = append(arrays, fmt.Sprintf("$%d::%s[]", i+1, kind))
		sets = append(sets, fmt.Sprintf("%s = $%d", column, i+1))
		news = append(news, column+" = n."+column)
	}
	n, all := len(sets)-2, strings.Join(t.columns, ", ")
	from := "unnest(" + strings.Join(arrays, ", ") + ") AS n (" + all + ")"
	t.insert = rowStatement{
		fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", name, all, strings.Join(places, ", ")),
		fmt.Sprintf("INSERT INTO %s (%s) SELECT * FROM %s", name, all, from),
	}
	t.update = rowStatement{
		fmt.Sprintf("UPDATE %s SET %s WHERE %s", name, strings.Join(sets[:n], ", "), strings.Join(sets[n:], " AND ")),
		fmt.Sprintf("UPDATE %s t SET %s FROM %s WHERE t.id = n.id AND t.workspace = n.workspace", name, strings.Join(news[:n], ", "), from),
	}
	t.remove = fmt.Sprintf("DELETE FROM %s WHERE id = $1 AND workspace = $2", name)
	return t
}

// write adds what writes the rows: a statement for each, or one for all of them.
func (d *Dialect) write(b *Batch, s rowStatement, rows [][]any) {
	if !d.Arrays || len(rows) < 2 {
		for _, values := range rows {
			b.Exec(s.one, values...)
		}
		return
	}
	arrays := make([]any, len(rows[0]))
	for i := range arrays {
		column := make([]any, len(rows))
		for j, values := range rows {
			column[j] = values[i]
		}
		arrays[i] = column
	}
	b.Exec(s.all, arrays...)
}

// optional returns the value, or NULL unless it is there.
func optional(value int64, there bool) any {
	if !there {
		return nil
	}
	return value
}
