package store

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"example.com/petstore/internal/petstore"
)

// Write decides the changes, and adds the statements for all effects. Of a row that several
// changed, the last state is written.
func (g *Group) Write(b *Batch) {
	g.decide()
	g.write(b)
}

// write adds the statements for the rows that were changed.
func (g *Group) write(b *Batch) {
	writeRows(g, b, categoryTable, g.categories)
	g.writePets(b)
	writeRows(g, b, orderTable, g.orders)
	g.store.dialect.write(b, movementTable.insert, g.movements)
	for _, c := range g.changes {
		if c.receipt != nil {
			keepReceipt(b, idOf(c.Change), c.receipt)
		}
	}
	g.store.dialect.write(b, eventTable.insert, g.events)
	for _, w := range g.workspaces {
		if c := &w.last; *c != w.loaded {
			b.Exec(updateCounters, c.pets, c.categories, c.orders, c.movements, c.events, c.forgotten, c.letters, w.id)
		}
	}
}

// writeRows adds the statements for the rows that are new, were changed or are gone.
func writeRows[T comparable](g *Group, b *Batch, t *table[T], rows rows[T]) {
	var inserts, updates [][]any
	for _, id := range slices.SortedFunc(maps.Keys(rows), rowID.compare) {
		switch r := rows[id]; {
		case r.isNew && r.gone, !r.isNew && !r.gone && r.row == r.loaded:
		case r.gone:
			b.Exec(t.remove, id.id, id.workspace)
		case r.isNew:
			inserts = append(inserts, t.values(id.workspace, &r.row))
		default:
			updates = append(updates, t.values(id.workspace, &r.row))
		}
	}
	g.store.dialect.write(b, t.insert, inserts)
	g.store.dialect.write(b, t.update, updates)
}

// writePets is writeRows for pets, of which mostly nothing but the stock changes. It also adds
// the names of new ones, ascending: FTS5 writes to its tables whenever a row comes before the
// last one.
func (g *Group) writePets(b *Batch) {
	stock, others := rows[storedPet]{}, rows[storedPet]{}
	for _, id := range slices.SortedFunc(maps.Keys(g.pets), rowID.compare) {
		p := g.pets[id]
		if !p.isNew && !p.gone && p.row.Pet == p.loaded.Pet {
			stock[id] = p
			continue
		}
		others[id] = p
		name, last := petstore.Fold(p.row.Name), &g.workspace(id.workspace).last
		last.letters = lettersOf(last.letters, name)
		if p.isNew && !p.gone && g.store.dialect.AddName != nil {
			g.store.dialect.AddName(b, id.workspace, id.id, name)
		}
	}
	writeRows(g, b, petTable, others)
	writeRows(g, b, stockTable, stock)
}

// A table says how its rows are written. Its last two columns are the id and the
// workspace, by which a row is found.
type table[T any] struct {
	insert, update rowStatement                        // with the values of a row
	remove         string                              // with the id and the workspace
	values         func(workspace int64, row *T) []any // in the order of the columns
}

// A rowStatement writes one row, whose values are its arguments, or all of many: then its
// arguments are arrays, one for each column.
type rowStatement struct{ one, all string }

// newTable returns the table with the columns. They are bigint unless another type is said.
func newTable[T any](name, columns string, values func(workspace int64, row *T) []any) *table[T] {
	t := &table[T]{values: values}
	var names, places, arrays, sets, news []string
	for i, column := range strings.Split(columns+", id, workspace", ", ") {
		column, kind, said := strings.Cut(column, " ")
		if !said {
			kind = "bigint"
		}
		names = append(names, column)
		places = append(places, fmt.Sprintf("$%d", i+1))
		arrays = append(arrays, fmt.Sprintf("$%d::%s[]", i+1, kind))
		sets = append(sets, fmt.Sprintf("%s = $%d", column, i+1))
		news = append(news, column+" = n."+column)
	}
	n, all := len(sets)-2, strings.Join(names, ", ")
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

var orderTable = newTable("orders", "pet, quantity, complete boolean, ship_date, placed", func(workspace int64, o *storedOrder) []any {
	return []any{o.PetID, o.Quantity, o.Complete, optional(o.ShipDate.Millis, o.ShipDate.Valid), o.placed, o.ID, workspace}
})

var movementTable = newTable("movements", "before, pet, number, delta, quantity, at, kind text, order_id, by_key text",
	func(workspace int64, m *storedMovement) []any {
		return []any{m.before, m.PetID, m.Number, m.Delta, m.Quantity, m.At.Millis, string(m.Kind), optional(m.OrderID, m.OrderID != 0), m.By, m.id, workspace}
	})

var eventTable = newTable("events", "at, type text, request text, data text, previous text", func(workspace int64, e *petstore.Event) []any {
	return []any{e.CreatedAt.Millis, string(e.Type), e.RequestID, string(e.Data), string(e.Previous), e.ID, workspace}
})
