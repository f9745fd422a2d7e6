package sqlite

import (
	"context"

	"example.com/petstore/internal/petstore"
	"zombiezen.com/go/sqlite"
)

// The columns of each row, in the order in which the scan functions read them.
const (
	petColumns      = "id, name, category, status"
	ledgerColumns   = petColumns + ", quantity, open_orders, movements, last_entry"
	storedColumns   = ledgerColumns + ", recent"
	itemColumns     = "id, quantity, status"
	rowColumns      = "name, category, status, quantity"
	categoryColumns = "id, name, description"
	orderColumns    = "id, pet, quantity, ship_date, complete"
	movementColumns = "pet, number, kind, order_id, delta, quantity, at"
)

func scanPet(row *sqlite.Stmt) petstore.Pet {
	return petstore.Pet{ID: row.ColumnInt64(0), Name: row.ColumnText(1), CategoryID: row.ColumnInt64(2), Status: scanStatus(row, 3)}
}

func scanRow(stmt *sqlite.Stmt) row {
	return row{name: stmt.ColumnText(0), category: stmt.ColumnInt64(1), status: placeOf(scanStatus(stmt, 2)), quantity: stmt.ColumnInt64(3)}
}

// A stored is a pet with the last entry of its ledger, and its latest orders.
type stored struct {
	petstore.StockedPet
	lastEntry int64
	recent    recent
}

func scanStored(row *sqlite.Stmt) stored {
	return stored{
		StockedPet: petstore.StockedPet{Pet: scanPet(row), Quantity: row.ColumnInt64(4), OpenOrders: row.ColumnInt64(5), Movements: row.ColumnInt64(6)},
		lastEntry:  row.ColumnInt64(7),
		recent:     scanRecent(row, 8),
	}
}

func scanItem(row *sqlite.Stmt) petstore.InventoryItem {
	return petstore.InventoryItem{PetID: row.ColumnInt64(0), Quantity: row.ColumnInt64(1), Status: scanStatus(row, 2)}
}

func scanCategory(row *sqlite.Stmt) petstore.Category {
	c := petstore.Category{ID: row.ColumnInt64(0), Name: row.ColumnText(1)}
	if !row.ColumnIsNull(2) {
		description := row.ColumnText(2)
		c.Description = &description
	}
	return c
}

func scanOrder(row *sqlite.Stmt) petstore.Order {
	return petstore.Order{ID: row.ColumnInt64(0), PetID: row.ColumnInt64(1), Quantity: row.ColumnInt64(2),
		ShipDate: scanTime(row, 3), Complete: row.ColumnBool(4)}
}

func scanTime(row *sqlite.Stmt, col int) petstore.Time {
	if row.ColumnIsNull(col) {
		return petstore.Time{}
	}
	return petstore.Time{Millis: row.ColumnInt64(col), Valid: true}
}

// scanStatus reads a status without allocating one.
func scanStatus(row *sqlite.Stmt, col int) petstore.Status {
	var text [16]byte
	n := row.ColumnBytes(col, text[:])
	switch string(text[:n]) {
	case string(petstore.Available):
		return petstore.Available
	case string(petstore.Pending):
		return petstore.Pending
	}
	return petstore.Sold
}

// find returns the row that a query of a workspace and an id selects, or nil.
func find[T any](c *conn, query string, workspace, id int64, scan func(*sqlite.Stmt) T) (*T, error) {
	stmt, err := c.ints(query, workspace, id)
	if err != nil {
		return nil, err
	}
	found, err := stmt.Step()
	if err != nil || !found {
		return nil, err
	}
	row := scan(stmt)
	return &row, stmt.Reset()
}

// get is find for a reader: without a row it returns missing's error.
func get[T any](ctx context.Context, db *DB, query string, workspace, id int64, scan func(*sqlite.Stmt) T, missing func(int64) *petstore.Error) (none T, _ error) {
	c, err := db.reader(ctx)
	if err != nil {
		return none, err
	}
	defer db.release(c)
	row, err := find(c, query, workspace, id, scan)
	switch {
	case err != nil:
		return none, db.judge(err)
	case row == nil:
		return none, missing(id)
	}
	return *row, nil
}

const (
	selectPet      = "SELECT " + petColumns + " FROM pets WHERE workspace=?1 AND id=?2"
	selectStored   = "SELECT " + storedColumns + " FROM pets WHERE workspace=?1 AND id=?2"
	selectRow      = "SELECT " + rowColumns + " FROM pets WHERE workspace=?1 AND id=?2"
	selectCategory = "SELECT " + categoryColumns + " FROM categories WHERE workspace=?1 AND id=?2"
	selectInUse    = "SELECT 1 FROM pets WHERE workspace=?1 AND category=?2 LIMIT 1"
	selectOrder    = "SELECT " + orderColumns + " FROM orders WHERE workspace=?1 AND id=?2"
)

// Pet implements [petstore.Store].
func (db *DB) Pet(ctx context.Context, workspace, id int64) (petstore.Pet, error) {
	r, err := db.row(ctx, workspace, id)
	if err != nil {
		return petstore.Pet{}, err
	}
	return r.pet(id), nil
}

// row returns what reads need of a pet.
func (db *DB) row(ctx context.Context, workspace, id int64) (row, error) {
	k := cacheKey{workspace, id}
	held, ok, version := db.cache.row(k)
	if ok && db.fault.err() == nil {
		return held, nil
	}
	r, err := get(ctx, db, selectRow, workspace, id, scanRow, petstore.NoPet)
	if err == nil {
		db.cache.keep(k, r, version)
	}
	return r, err
}

// Category implements [petstore.Store].
func (db *DB) Category(ctx context.Context, workspace, id int64) (petstore.Category, error) {
	return get(ctx, db, selectCategory, workspace, id, scanCategory, petstore.NoCategory)
}

// Order implements [petstore.Store].
func (db *DB) Order(ctx context.Context, workspace, id int64) (petstore.Order, error) {
	return get(ctx, db, selectOrder, workspace, id, scanOrder, petstore.NoOrder)
}

// InventoryItem implements [petstore.Store].
func (db *DB) InventoryItem(ctx context.Context, workspace, petID int64) (petstore.InventoryItem, error) {
	r, err := db.row(ctx, workspace, petID)
	if err != nil {
		return petstore.InventoryItem{}, err
	}
	return petstore.InventoryItem{PetID: petID, Quantity: r.quantity, Status: statusAt[r.status]}, nil
}

// Movements implements [petstore.Store]. It returns the error of NoPet for an
// pet that there never was.
func (db *DB) Movements(ctx context.Context, workspace, petID int64) ([]petstore.Movement, error) {
	var all []petstore.Movement
	err := db.read(ctx, snapshot(func(c *conn) error {
		last, err := find(c, selectLastEntry, workspace, petID, scanInt)
		if err != nil || last == nil {
			return err
		}
		return c.ledger(workspace, petID, *last, func(m petstore.Movement) error {
			all = append(all, m)
			return nil
		})
	}))
	if err == nil && all == nil {
		return nil, petstore.NoPet(petID)
	}
	return all, err
}
