package store

import (
	"fmt"
	"strings"

	"example.com/petstore/internal/petstore"
)

// The columns of the tables of shops, in the order in which the functions that scan a row
// read them.
const (
	petColumns      = "id, name, category, status"
	storedColumns   = petColumns + ", quantity, open_orders, movements, last_movement"
	categoryColumns = "id, name, description"
	orderColumns    = "id, pet, quantity, ship_date, complete"
	movementColumns = "pet, number, kind, order_id, delta, quantity, at"
)

// A storedPet is a pet with the id of the last movement of its ledger, 0 if there is none.
type storedPet struct {
	petstore.StockedPet
	lastMovement int64
}

// A storedMovement is a movement with its id, and that of the movement before it of the
// same pet, 0 for the first.
type storedMovement struct {
	petstore.Movement
	id, before int64
}

func scanStored(row Row, p *storedPet) error {
	var status string
	err := row.Scan(&p.ID, &p.Name, &p.CategoryID, &status, &p.Quantity, &p.OpenOrders, &p.Movements, &p.lastMovement)
	p.Status = petstore.Status(status)
	return err
}

func scanCategory(row Row, c *petstore.Category) error {
	return row.Scan(&c.ID, &c.Name, &c.Description)
}

func scanOrder(row Row, o *petstore.Order) error {
	var shipDate *int64
	err := row.Scan(&o.ID, &o.PetID, &o.Quantity, &shipDate, &o.Complete)
	if shipDate != nil {
		o.ShipDate = petstore.Time{Millis: *shipDate, Valid: true}
	}
	return err
}

// scanMovement reads a movement, and the columns after it into those given.
func scanMovement(row Row, m *petstore.Movement, after ...any) error {
	var (
		kind  string
		order *int64
	)
	m.At.Valid = true
	err := row.Scan(append([]any{&m.PetID, &m.Number, &kind, &order, &m.Delta, &m.Quantity, &m.At.Millis}, after...)...)
	m.Kind = petstore.MovementKind(kind)
	if order != nil {
		m.OrderID = *order
	}
	return err
}

// A table says how its rows are written. Its last two columns are the id and the
// workspace, by which a row is found.
type table[T any] struct {
	name    string
	columns []string
	insert  string                              // with the values of a row
	update  string                              // with the values of a row
	remove  string                              // with the id and the workspace
	values  func(workspace int64, row *T) []any // in the order of the columns
}

func newTable[T any](name, columns string, values func(workspace int64, row *T) []any) *table[T] {
	t := &table[T]{name: name, columns: strings.Split(columns+", id, workspace", ", "), values: values}
	var places, sets []string
	for i, column := range t.columns {
		places = append(places, fmt.Sprintf("$%d", i+1))
		sets = append(sets, fmt.Sprintf("%s = $%d", column, i+1))
	}
	n := len(sets) - 2
	t.insert = fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", name, strings.Join(t.columns, ", "), strings.Join(places, ", "))
	t.update = fmt.Sprintf("UPDATE %s SET %s WHERE %s", name, strings.Join(sets[:n], ", "), strings.Join(sets[n:], " AND "))
	t.remove = fmt.Sprintf("DELETE FROM %s WHERE id = $1 AND workspace = $2", name)
	return t
}

var petTable = newTable("pets", "quantity, open_orders, movements, last_movement, name, folded, status, category",
	func(workspace int64, p *storedPet) []any {
		return []any{p.Quantity, p.OpenOrders, p.Movements, p.lastMovement, p.Name, petstore.Fold(p.Name), string(p.Status), p.CategoryID, p.ID, workspace}
	})

// updateStock is for a pet of which nothing else has changed: on SQLite an update that
// names a column changes the indexes that have it, whether the value is another or not.
const updateStock = "UPDATE pets SET quantity = $1, open_orders = $2, movements = $3, last_movement = $4 WHERE id = $5 AND workspace = $6"

func stockValues(workspace int64, p *storedPet) []any {
	return []any{p.Quantity, p.OpenOrders, p.Movements, p.lastMovement, p.ID, workspace}
}

var categoryTable = newTable("categories", "name, folded, description", func(workspace int64, c *petstore.Category) []any {
	var description any
	if c.Description != nil {
		description = *c.Description
	}
	return []any{c.Name, petstore.Fold(c.Name), description, c.ID, workspace}
})

var orderTable = newTable("orders", "pet, quantity, complete, ship_date", func(workspace int64, o *petstore.Order) []any {
	return []any{o.PetID, o.Quantity, o.Complete, optional(o.ShipDate.Millis, o.ShipDate.Valid), o.ID, workspace}
})

var movementTable = newTable("movements", "before, pet, number, delta, quantity, at, kind, order_id",
	func(workspace int64, m *storedMovement) []any {
		return []any{m.before, m.PetID, m.Number, m.Delta, m.Quantity, m.At.Millis, string(m.Kind), optional(m.OrderID, m.OrderID != 0), m.id, workspace}
	})

// optional returns the value, or NULL unless it is there.
func optional(value int64, there bool) any {
	if !there {
		return nil
	}
	return value
}
