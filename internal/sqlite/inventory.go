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
	l := &list[petstore.InventoryItem]{
		from: "SELECT " + itemColumns + " FROM pets", workspace: workspace, page: q.Page,
		scan: scanItem, id: func(i petstore.InventoryItem) int64 { return i.PetID },
	}
	if q.MaxQuantity == nil {
		if l.lanes = statusLanes(q.Statuses, false); len(l.lanes) > 0 {
			l.index = "pets_by_status"
		}
		return l
	}
	if *q.MaxQuantity <= lowStock {
		l.values = idsOf("pets", "pets_by_low_stock", workspace, statusLanes(q.Statuses, true), filter{byLowStock, *q.MaxQuantity})
	}
	l.filters = append(l.filters, filter{byMaxQuantity, *q.MaxQuantity})
	l.filters = append(l.filters, statusTests(q.Statuses)...)
	return l
}

// lowStock is the most that the index of low stock has. Beyond it rows are tested one
// by one: of every quantity, an order would change the index.
const lowStock = 100
