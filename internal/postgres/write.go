package postgres

import (
	"cmp"
	"maps"
	"slices"

	"example.com/petstore/internal/petstore"
	"github.com/jackc/pgx/v5"
)

// The statements that write: one for all rows of a kind.
const (
	insertCategories = `INSERT INTO categories (workspace, id, name, folded, description)
		SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[])`

	updateCategories = `UPDATE categories c SET name = n.name, folded = n.folded, description = n.description
		FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[]) AS n (workspace, id, name, folded, description)
		WHERE c.workspace = n.workspace AND c.id = n.id`

	insertPets = `INSERT INTO pets (workspace, id, category, quantity, open_orders, movements, status, name, folded)
		SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[], $8::text[], $9::text[])`

	updatePets = `UPDATE pets p SET category = n.category, quantity = n.quantity, open_orders = n.open_orders,
			movements = n.movements, status = n.status, name = n.name, folded = n.folded
		FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[], $8::text[], $9::text[])
			AS n (workspace, id, category, quantity, open_orders, movements, status, name, folded)
		WHERE p.workspace = n.workspace AND p.id = n.id`

	// What most changes come to; the text stays as it is.
	updateStock = `UPDATE pets p SET quantity = n.quantity, open_orders = n.open_orders, movements = n.movements, status = n.status
		FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[])
			AS n (workspace, id, quantity, open_orders, movements, status)
		WHERE p.workspace = n.workspace AND p.id = n.id`

	insertOrders = `INSERT INTO orders (workspace, id, pet, quantity, ship_date, complete)
		SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::boolean[])`

	updateOrders = `UPDATE orders o SET pet = n.pet, quantity = n.quantity, ship_date = n.ship_date, complete = n.complete
		FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::boolean[])
			AS n (workspace, id, pet, quantity, ship_date, complete)
		WHERE o.workspace = n.workspace AND o.id = n.id`

	insertMovements = `INSERT INTO movements (workspace, pet, number, delta, quantity, at, order_id, kind)
		SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::text[])`

	dropOrders     = `DELETE FROM orders o USING unnest($1::bigint[], $2::bigint[]) AS n (workspace, id) WHERE o.workspace = n.workspace AND o.id = n.id`
	dropPets       = `DELETE FROM pets p USING unnest($1::bigint[], $2::bigint[]) AS n (workspace, id) WHERE p.workspace = n.workspace AND p.id = n.id`
	dropCategories = `DELETE FROM categories c USING unnest($1::bigint[], $2::bigint[]) AS n (workspace, id) WHERE c.workspace = n.workspace AND c.id = n.id`

	// Receipts that are out of date make way for new ones. One that is not was
	// written by another node meanwhile: then the insert fails, and the change
	// is decided anew.
	dropOldReceipts = `DELETE FROM receipts r USING unnest($1::bigint[], $2::text[], $3::text[]) AS n (workspace, operation, key)
		WHERE r.workspace = n.workspace AND r.operation = n.operation AND r.key = n.key AND r.created_at <= $4`

	insertReceipts = `INSERT INTO receipts (workspace, operation, key, created_at, row_id, fingerprint, body)
		SELECT n.workspace, n.operation, n.key, $4, n.row_id, n.fingerprint, n.body
		FROM unnest($1::bigint[], $2::text[], $3::text[], $5::bigint[], $6::bytea[], $7::bytea[])
			AS n (workspace, operation, key, row_id, fingerprint, body)`
)

func compareRowIDs(a, b rowID) int {
	return cmp.Or(cmp.Compare(a.workspace, b.workspace), cmp.Compare(a.id, b.id))
}

// inOrder returns the keys of rows, ascending, and the same as columns.
func inOrder[T any](rows map[rowID]*T) ([]rowID, keys) {
	ids := slices.SortedFunc(maps.Keys(rows), compareRowIDs)
	return ids, columnsOf(ids)
}

// column returns one value of every row.
func column[T, V any](rows map[rowID]*T, ids []rowID, value func(*T) V) []V {
	values := make([]V, len(ids))
	for i, id := range ids {
		values[i] = value(rows[id])
	}
	return values
}

func queueCategories(b *pgx.Batch, query string, rows map[rowID]*petstore.Category) {
	if len(rows) == 0 {
		return
	}
	type row = petstore.Category
	ids, k := inOrder(rows)
	b.Queue(query, k.workspaces, k.ids,
		column(rows, ids, func(c *row) string { return c.Name }),
		column(rows, ids, func(c *row) string { return petstore.Fold(c.Name) }),
		column(rows, ids, func(c *row) *string { return c.Description }))
}

func queuePets(b *pgx.Batch, query string, rows map[rowID]*petstore.StockedPet) {
	if len(rows) == 0 {
		return
	}
	type row = petstore.StockedPet
	ids, k := inOrder(rows)
	b.Queue(query, k.workspaces, k.ids,
		column(rows, ids, func(a *row) int64 { return a.CategoryID }),
		column(rows, ids, func(a *row) int64 { return a.Quantity }),
		column(rows, ids, func(a *row) int64 { return a.OpenOrders }),
		column(rows, ids, func(a *row) int64 { return a.Movements }),
		column(rows, ids, func(a *row) string { return string(a.Status) }),
		column(rows, ids, func(a *row) string { return a.Name }),
		column(rows, ids, func(a *row) string { return petstore.Fold(a.Name) }))
}

func queueStock(b *pgx.Batch, rows map[rowID]*petstore.StockedPet) {
	if len(rows) == 0 {
		return
	}
	type row = petstore.StockedPet
	ids, k := inOrder(rows)
	b.Queue(updateStock, k.workspaces, k.ids,
		column(rows, ids, func(a *row) int64 { return a.Quantity }),
		column(rows, ids, func(a *row) int64 { return a.OpenOrders }),
		column(rows, ids, func(a *row) int64 { return a.Movements }),
		column(rows, ids, func(a *row) string { return string(a.Status) }))
}

func queueOrders(b *pgx.Batch, query string, rows map[rowID]*petstore.Order) {
	if len(rows) == 0 {
		return
	}
	type row = petstore.Order
	ids, k := inOrder(rows)
	b.Queue(query, k.workspaces, k.ids,
		column(rows, ids, func(o *row) int64 { return o.PetID }),
		column(rows, ids, func(o *row) int64 { return o.Quantity }),
		column(rows, ids, func(o *row) *int64 { return optional(o.ShipDate.Millis, o.ShipDate.Valid) }),
		column(rows, ids, func(o *row) bool { return o.Complete }))
}

// optional returns NULL unless the value is there.
func optional(value int64, there bool) *int64 {
	if !there {
		return nil
	}
	return &value
}

func queueDrop(b *pgx.Batch, query string, ids []rowID) {
	if len(ids) > 0 {
		k := sorted(ids)
		b.Queue(query, k.workspaces, k.ids)
	}
}

// movements are columns of the ledger.
type movements struct {
	workspaces, pets, numbers, deltas, quantities, ats []int64
	orders                                             []*int64
	kinds                                              []string
}

func (c *movements) add(workspace int64, m *petstore.Movement) {
	c.workspaces, c.pets, c.numbers = append(c.workspaces, workspace), append(c.pets, m.PetID), append(c.numbers, m.Number)
	c.deltas, c.quantities, c.ats = append(c.deltas, m.Delta), append(c.quantities, m.Quantity), append(c.ats, m.At.Millis)
	c.orders, c.kinds = append(c.orders, optional(m.OrderID, m.OrderID != 0)), append(c.kinds, string(m.Kind))
}

func (c *movements) queue(b *pgx.Batch) {
	if len(c.pets) > 0 {
		b.Queue(insertMovements, c.workspaces, c.pets, c.numbers, c.deltas, c.quantities, c.ats, c.orders, c.kinds)
	}
}

// receipts are the members that leave one.
type receipts []*member

func (rs receipts) queue(b *pgx.Batch, lived petstore.Time) {
	if len(rs) == 0 {
		return
	}
	slices.SortFunc(rs, func(a, b *member) int { return idOf(a.Job.change).compare(idOf(b.Job.change)) })
	n := len(rs)
	workspaces, rowIDs := make([]int64, n), make([]int64, n)
	operations, keys := make([]string, n), make([]string, n)
	fingerprints, bodies := make([][]byte, n), make([][]byte, n)
	for i, m := range rs {
		workspaces[i], operations[i], keys[i] = m.Job.change.Workspace, m.Job.change.Idempotency.Operation, m.Job.change.Idempotency.Key
		fingerprints[i], rowIDs[i], bodies[i] = m.Job.change.Idempotency.Fingerprint[:], m.receipt.ID, m.receipt.Body
		if bodies[i] == nil {
			bodies[i] = []byte{} // nil would be NULL
		}
	}
	b.Queue(dropOldReceipts, workspaces, operations, keys, lived.Millis-petstore.KeepReceipts.Milliseconds())
	b.Queue(insertReceipts, workspaces, operations, keys, lived.Millis, rowIDs, fingerprints, bodies)
}

func (r receiptID) compare(s receiptID) int {
	return cmp.Or(cmp.Compare(r.workspace, s.workspace), cmp.Compare(r.operation, s.operation), cmp.Compare(r.key, s.key))
}
