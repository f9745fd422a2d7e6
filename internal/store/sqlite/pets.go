package sqlite

import (
	"context"
	"slices"

	"example.com/petstore/internal/petstore"
	"zombiezen.com/go/sqlite"
)

// The columns of pets, in the order in which the scan functions read them.
const (
	petColumns    = "id, pets.name, category, status" // the index of names has a name, too
	storedColumns = petColumns + ", quantity, open_orders, movements, last_movement"
	selectStored  = "SELECT " + storedColumns + " FROM pets WHERE workspace=?1 AND id=?2"
)

// A stored is a pet with the id of the last movement of its ledger.
type stored struct {
	petstore.StockedPet
	lastMovement int64
}

func scanPet(row *sqlite.Stmt) petstore.Pet {
	return petstore.Pet{ID: row.ColumnInt64(0), Name: row.ColumnText(1), CategoryID: row.ColumnInt64(2), Status: scanStatus(row, 3)}
}

func scanStocked(row *sqlite.Stmt) petstore.StockedPet {
	return petstore.StockedPet{Pet: scanPet(row), Quantity: row.ColumnInt64(4), OpenOrders: row.ColumnInt64(5), Movements: row.ColumnInt64(6)}
}

func scanStored(row *sqlite.Stmt) stored {
	return stored{scanStocked(row), row.ColumnInt64(7)}
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

// Pet implements [petstore.Store].
func (db *DB) Pet(ctx context.Context, workspace, id int64) (petstore.Pet, error) {
	r, err := db.row(ctx, workspace, id)
	if err != nil {
		return petstore.Pet{}, err
	}
	return r.pet(id), nil
}

// InventoryItem implements [petstore.Store].
func (db *DB) InventoryItem(ctx context.Context, workspace, petID int64) (petstore.InventoryItem, error) {
	r, err := db.row(ctx, workspace, petID)
	if err != nil {
		return petstore.InventoryItem{}, err
	}
	return petstore.InventoryItem{PetID: petID, Quantity: r.quantity, Status: statusAt[r.status]}, nil
}

// row returns what reads need of a pet.
func (db *DB) row(ctx context.Context, workspace, id int64) (row, error) {
	k := cacheKey{workspace, id}
	held, ok, version := db.cache.row(k)
	if ok && db.fault.err() == nil {
		return held, nil
	}
	p, err := db.StockedPet(ctx, workspace, id)
	if err != nil {
		return row{}, err
	}
	r := row{name: p.Name, category: p.CategoryID, status: placeOf(p.Status), quantity: p.Quantity}
	db.cache.keep(k, r, version)
	return r, nil
}

// Pets implements [petstore.Store].
func (db *DB) Pets(ctx context.Context, workspace int64, q petstore.PetQuery) ([]petstore.Pet, error) {
	if len(q.IDs) == 1 && q.Limit > 0 {
		return db.onePet(ctx, workspace, &q)
	}
	k, holds := pageKeyOf(workspace, &q)
	if !holds {
		return db.Store.Pets(ctx, workspace, q)
	}
	held, ok, version := db.cache.page(k)
	if ok && db.fault.err() == nil {
		return held, nil
	}
	pets, err := db.Store.Pets(ctx, workspace, q)
	if err == nil {
		db.cache.keepPage(k, slices.Clip(pets), version)
	}
	return pets, err
}

// onePet is Pets for one id.
func (db *DB) onePet(ctx context.Context, workspace int64, q *petstore.PetQuery) ([]petstore.Pet, error) {
	p, err := db.Pet(ctx, workspace, q.IDs[0])
	switch {
	case petstore.CodeOf(err) == petstore.CodePetNotFound:
		return []petstore.Pet{}, nil
	case err != nil:
		return nil, err
	case !q.Has(p.ID) || !q.Selects(p):
		return []petstore.Pet{}, nil
	}
	return []petstore.Pet{p}, nil
}
