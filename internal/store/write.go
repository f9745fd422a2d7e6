package store

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
)

// ErrUsedUp is why a workspace issues no more ids.
var ErrUsedUp = errors.New("its ids are used up")

func usedUp(workspace int64) error { return fmt.Errorf("workspace %d: %w", workspace, ErrUsedUp) }

// An idCounts is a number for each kind of row: how many ids, or one of them.
type idCounts struct{ pets, categories, orders, movements int64 }

// addIDs raises the counters of a workspace by what is needed of each kind.
const addIDs = `UPDATE counters SET pets = pets + $1, categories = categories + $2, orders = orders + $3, movements = movements + $4
	WHERE workspace = $5 RETURNING pets, categories, orders, movements`

// issueIDs adds the statement that takes ids from the counters, and notes the ids before
// the first that may be used. They are lost if they are not used.
func issueIDs(b *Batch, w *groupedWorkspace) {
	n := w.needs
	b.Query(func(row Row) error {
		d := new(idCounts)
		err := row.Scan(&d.pets, &d.categories, &d.orders, &d.movements)
		*d = idCounts{d.pets - n.pets, d.categories - n.categories, d.orders - n.orders, d.movements - n.movements}
		w.issued = d
		return err
	}, addIDs, n.pets, n.categories, n.orders, n.movements, w.id)
}

// assignIDs gives the new rows of a change their ids, and links the effects.
func (g *Group) assignIDs(m *groupedChange) error {
	w, e := m.workspace, &m.effects
	if !m.inserted.pet && !m.inserted.category && !m.inserted.order && e.Movement == nil {
		return nil
	}
	last := w.issued
	if last == nil { // it was reset or deleted while the request was on its way
		return access.Resetting()
	}
	if m.inserted.pet {
		assignID(&e.SavePet.ID, &last.pets)
	}
	if m.inserted.category {
		assignID(&e.SaveCategory.ID, &last.categories)
	}
	if m.inserted.order {
		assignID(&e.SaveOrder.ID, &last.orders)
	}
	e.Link()
	if e.Movement != nil {
		m.movement.Movement = *e.Movement
		m.movement.By = m.By
		assignID(&m.movement.id, &last.movements)
		if pet := g.pets[rowID{w.id, e.Movement.PetID}]; pet != nil {
			m.movement.before, pet.row.lastMovement = pet.row.lastMovement, m.movement.id
		}
	}
	if max(last.pets, last.categories, last.orders, last.movements) > petstore.MaxID {
		return usedUp(w.id)
	}
	return nil
}

// assignID writes the next id to *id unless there is one, and reports whether it did.
func assignID(id, last *int64) bool {
	if *id != 0 {
		return false
	}
	*last++
	*id = *last
	return true
}

// Write gives the new rows their ids, in the order of the changes, and adds the
// statements for all effects: rows before those that refer to them, and existing rows in
// the order of their keys. Of a row that several changed, the last state is written. A
// category that is removed is alone in its group: no row refers to it.
func (g *Group) Write(b *Batch) error {
	if g.whole && slices.ContainsFunc(g.changes, func(m groupedChange) bool { return m.err != nil }) {
		return petstore.ErrRefused
	}
	var categories, pets, orders, movements [][]any
	for i := range g.changes {
		m := &g.changes[i]
		if !m.effective() {
			continue
		}
		if err := g.finish(m); err != nil {
			if len(g.changes) > 1 {
				return ErrSplit
			}
			*m = groupedChange{change: m.change, workspace: m.workspace}
			m.err, m.workspace.events = err, nil
			return nil
		}
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
	}
	g.dialect.write(b, categoryTable.insert, categories)
	changeRows(g, b, categoryTable, g.categories)
	g.dialect.write(b, petTable.insert, pets)
	g.changePets(b)
	g.dialect.write(b, placedTable.insert, orders)
	changeRows(g, b, orderTable, g.orders)
	g.dialect.write(b, movementTable.insert, movements)
	g.keepReceipts(b)
	g.addEvents(b)
	return nil
}

// finish gives the new rows of a change their ids, collects its events and asks for its receipt.
func (g *Group) finish(m *groupedChange) error {
	if err := g.assignIDs(m); err != nil {
		return err
	}
	if !g.store.options.NoEvents {
		m.workspace.events = append(m.workspace.events, m.effects.Events(g.now, m.RequestID)...)
	}
	if m.Idempotency == nil {
		return nil
	}
	return guard(func() error {
		r := m.Receipt()
		m.receipt = &r
		return nil
	})
}

// newPet returns the row of a new pet, and adds its name.
func (g *Group) newPet(b *Batch, m *groupedChange) []any {
	p := storedPet{StockedPet: *m.effects.SavePet}
	if m.effects.Movement != nil {
		p.lastMovement = m.movement.id
	}
	if g.dialect.AddName != nil {
		g.dialect.AddName(b, m.workspace.id, p.ID, petstore.Fold(p.Name))
	}
	return petTable.values(m.workspace.id, &p)
}

// changedOf returns the keys of the rows that were changed or are gone, ascending.
func changedOf[T comparable](rows rows[T]) []rowID {
	keys := make([]rowID, 0, len(rows))
	for id, r := range rows {
		if r.gone || r.row != r.loaded {
			keys = append(keys, id)
		}
	}
	slices.SortFunc(keys, rowID.compare)
	return keys
}

// changeRows adds the statements for the rows that were changed or are gone.
func changeRows[T comparable](g *Group, b *Batch, t *table[T], rows rows[T]) {
	var updates [][]any
	for _, id := range changedOf(rows) {
		if r := rows[id]; r.gone {
			b.Exec(t.remove, id.id, id.workspace)
		} else {
			updates = append(updates, t.values(id.workspace, &r.row))
		}
	}
	g.dialect.write(b, t.update, updates)
}

// changePets is changeRows for pets, of which mostly nothing but the stock changes.
func (g *Group) changePets(b *Batch) {
	var pets, stock [][]any
	for _, id := range changedOf(g.pets) {
		switch p := g.pets[id]; {
		case p.gone:
			b.Exec(petTable.remove, id.id, id.workspace)
		case p.row.Pet == p.loaded.Pet:
			stock = append(stock, stockTable.values(id.workspace, &p.row))
		default:
			pets = append(pets, petTable.values(id.workspace, &p.row))
		}
	}
	g.dialect.write(b, petTable.update, pets)
	g.dialect.write(b, stockTable.update, stock)
}

// addEvents adds the statements that write the events. Feeds are raised in the order of
// the workspaces, and stay locked until the commit: so nobody sees an id before all
// smaller ones. They must be the last statements of their transaction that can wait.
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

// newTable returns the table with the columns. They are bigint unless another type is said.
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

var categoryTable = newTable("categories", "name text, folded text, description text", func(workspace int64, c *petstore.Category) []any {
	var description any
	if c.Description != nil {
		description = *c.Description
	}
	return []any{c.Name, petstore.Fold(c.Name), description, c.ID, workspace}
})

var petTable = newTable("pets", "quantity, open_orders, movements, last_movement, name text, folded text, status text, category",
	func(workspace int64, p *storedPet) []any {
		return []any{p.Quantity, p.OpenOrders, p.Movements, p.lastMovement, p.Name, petstore.Fold(p.Name), string(p.Status), p.CategoryID, p.ID, workspace}
	})

// stockTable is petTable for a pet of which nothing else has changed: on SQLite an update
// that names a column changes the indexes that have it, whether the value is another or not.
var stockTable = newTable("pets", "quantity, open_orders, movements, last_movement", func(workspace int64, p *storedPet) []any {
	return []any{p.Quantity, p.OpenOrders, p.Movements, p.lastMovement, p.ID, workspace}
})

var orderTable = newTable("orders", "pet, quantity, complete boolean, ship_date", func(workspace int64, o *petstore.Order) []any {
	return []any{o.PetID, o.Quantity, o.Complete, optional(o.ShipDate.Millis, o.ShipDate.Valid), o.ID, workspace}
})

// placedTable is orderTable for new orders, with the movement that placed one.
var placedTable = newTable("orders", "placed, pet, quantity, complete boolean, ship_date", func(workspace int64, m *groupedChange) []any {
	return append([]any{m.movement.id}, orderTable.values(workspace, m.effects.SaveOrder)...)
})

var movementTable = newTable("movements", "before, pet, number, delta, quantity, at, kind text, order_id, by_key text",
	func(workspace int64, m *storedMovement) []any {
		return []any{m.before, m.PetID, m.Number, m.Delta, m.Quantity, m.At.Millis, string(m.Kind), optional(m.OrderID, m.OrderID != 0), m.By, m.id, workspace}
	})

// insertEvent gives an event the id that is $2 before the last, as RaiseFeed left it.
var insertEvent = rowStatement{
	`INSERT INTO events (workspace, id, at, type, request, data, previous)
		VALUES ($1, (SELECT last FROM feeds WHERE workspace = $1) - $2, $3, $4, $5, $6, $7)`,
	`INSERT INTO events (workspace, id, at, type, request, data, previous)
		SELECT n.workspace, f.last - n.back, n.at, n.type, n.request, n.data, n.previous
		FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[])
			AS n (workspace, back, at, type, request, data, previous) JOIN feeds f ON f.workspace = n.workspace`,
}
