package sqlite

import (
	"context"
	"slices"
	"strings"

	"example.com/petstore/internal/petstore"
	"zombiezen.com/go/sqlite"
)

// The columns of pets, in the order in which the scan functions read them.
const (
	petColumns    = "id, pets.name, category, status" // the index of names has a name, too
	storedColumns = petColumns + ", quantity, open_orders, movements, last_movement"
	rowColumns    = "name, category, status, quantity"
	selectPet     = "SELECT " + petColumns + " FROM pets WHERE workspace=?1 AND id=?2"
	selectStored  = "SELECT " + storedColumns + " FROM pets WHERE workspace=?1 AND id=?2"
	selectRow     = "SELECT " + rowColumns + " FROM pets WHERE workspace=?1 AND id=?2"
)

// A stored is a pet with the id of the last movement of its ledger.
type stored struct {
	petstore.StockedPet
	lastMovement int64
}

func scanPet(row *sqlite.Stmt) petstore.Pet {
	return petstore.Pet{ID: row.ColumnInt64(0), Name: row.ColumnText(1), CategoryID: row.ColumnInt64(2), Status: scanStatus(row, 3)}
}

func scanRow(stmt *sqlite.Stmt) row {
	return row{name: stmt.ColumnText(0), category: stmt.ColumnInt64(1), status: placeOf(scanStatus(stmt, 2)), quantity: stmt.ColumnInt64(3)}
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

// Pets implements [petstore.Store].
func (db *DB) Pets(ctx context.Context, workspace int64, q petstore.PetQuery) ([]petstore.Pet, error) {
	if len(q.IDs) > 0 {
		return db.petsByID(ctx, workspace, q)
	}
	k, holds := pageKeyOf(workspace, &q)
	if !holds {
		return petList(workspace, q).read(ctx, db)
	}
	held, ok, version := db.cache.page(k)
	if ok && db.fault.err() == nil {
		return held, nil
	}
	pets, err := petList(workspace, q).read(ctx, db)
	if err == nil {
		db.cache.keepPage(k, slices.Clip(pets), version)
	}
	return pets, err
}

func petList(workspace int64, q petstore.PetQuery) *list[petstore.Pet] {
	l := &list[petstore.Pet]{columns: petColumns, table: "pets", workspace: workspace, page: q.Page, scan: scanPet}
	switch l.lanes = statusLanes(q.Statuses, q.CategoryID != 0); {
	case q.CategoryID != 0:
		l.index, l.equal = "pets_by_category", []filter{{byCategory, q.CategoryID}}
	case len(l.lanes) > 0:
		l.index = "pets_by_status"
	}
	if q.Name != "" {
		l.tests = []filter{{byName, q.Name}}
		l.rest = l.byNames(q.Name)
	}
	return l
}

// petsByID looks up each id.
func (db *DB) petsByID(ctx context.Context, workspace int64, q petstore.PetQuery) ([]petstore.Pet, error) {
	ids := slices.Clone(q.IDs)
	slices.Sort(ids)
	if q.Newest {
		slices.Reverse(ids)
	}
	found := make([]petstore.Pet, 0, min(len(ids), max(q.Limit, 0)))
	for _, id := range slices.Compact(ids) {
		if !q.Has(id) || len(found) >= q.Limit {
			continue
		}
		r, err := db.row(ctx, workspace, id)
		if petstore.CodeOf(err) == petstore.CodePetNotFound {
			continue
		}
		if err != nil {
			return nil, err
		}
		if pet := r.pet(id); selects(q, pet) {
			found = append(found, pet)
		}
	}
	return found, nil
}

// selects reports whether the pet passes the filters besides the id.
func selects(q petstore.PetQuery, p petstore.Pet) bool {
	return (len(q.Statuses) == 0 || slices.Contains(q.Statuses, p.Status)) &&
		(q.CategoryID == 0 || q.CategoryID == p.CategoryID) &&
		(q.Name == "" || strings.Contains(petstore.Fold(p.Name), q.Name))
}
