package postgres

import (
	"context"

	"example.com/petstore/internal/petstore"
	"github.com/jackc/pgx/v5"
)

const (
	itemColumns = "id, quantity, status" // as scanItem reads them
	selectItem  = "SELECT " + itemColumns + " FROM pets WHERE workspace = $1 AND id = $2"
)

func scanItem(row pgx.Row, i *petstore.InventoryItem) error {
	return row.Scan(&i.PetID, &i.Quantity, &i.Status)
}

// InventoryItem implements [petstore.Store].
func (db *DB) InventoryItem(ctx context.Context, workspace, petID int64) (petstore.InventoryItem, error) {
	return get(ctx, db, selectItem, workspace, petID, scanItem, petstore.NoPet)
}

// Inventory implements [petstore.Store].
func (db *DB) Inventory(ctx context.Context, workspace int64, q petstore.InventoryQuery) ([]petstore.InventoryItem, error) {
	return inventoryList(workspace, q).read(ctx, db)
}

func inventoryList(workspace int64, q petstore.InventoryQuery) *list[petstore.InventoryItem] {
	if q.MaxQuantity != nil && *q.MaxQuantity == 0 && len(q.Statuses) == 0 { // what is available has stock
		q.Statuses = []petstore.Status{petstore.Pending, petstore.Sold}
	}
	l := &list[petstore.InventoryItem]{
		columns: itemColumns, table: "pets", workspace: workspace, page: q.Page,
		lanes: statusLanes(q.Statuses, false), scan: scanItem,
	}
	if q.MaxQuantity != nil {
		l.filters = append(l.filters, filter{byMaxQuantity, *q.MaxQuantity})
	}
	return l
}
