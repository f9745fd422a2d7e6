package sqlite

import (
	"context"

	"example.com/petstore/internal/petstore"
	"zombiezen.com/go/sqlite"
)

const itemColumns = "id, quantity, status" // as scanItem reads them

func scanItem(row *sqlite.Stmt) petstore.InventoryItem {
	return petstore.InventoryItem{PetID: row.ColumnInt64(0), Quantity: row.ColumnInt64(1), Status: scanStatus(row, 2)}
}

// InventoryItem implements [petstore.Store].
func (db *DB) InventoryItem(ctx context.Context, workspace, petID int64) (petstore.InventoryItem, error) {
	r, err := db.row(ctx, workspace, petID)
	if err != nil {
		return petstore.InventoryItem{}, err
	}
	return petstore.InventoryItem{PetID: petID, Quantity: r.quantity, Status: statusAt[r.status]}, nil
}

// Inventory implements [petstore.Store].
func (db *DB) Inventory(ctx context.Context, workspace int64, q petstore.InventoryQuery) ([]petstore.InventoryItem, error) {
	return inventoryList(workspace, q).read(ctx, db)
}

func inventoryList(workspace int64, q petstore.InventoryQuery) *list[petstore.InventoryItem] {
	l := &list[petstore.InventoryItem]{columns: itemColumns, table: "pets", workspace: workspace, page: q.Page, scan: scanItem}
	if l.lanes = statusLanes(q.Statuses, false); len(l.lanes) > 0 {
		l.index = "pets_by_status"
	}
	if q.MaxQuantity == nil {
		return l
	}
	l.tests = []filter{{byMaxQuantity, *q.MaxQuantity}}
	if *q.MaxQuantity <= lowStock {
		l.rest = l.byValue("pets_by_low_stock", statusLanes(q.Statuses, true), filter{isLowStock, nil})
	}
	return l
}

// lowStock is the greatest quantity in the index of low stock. Pets are tested one by one
// for greater ones: with every quantity in the index, each order would change it.
const lowStock = 100
