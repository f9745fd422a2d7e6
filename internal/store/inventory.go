package store

import (
	"context"

	"example.com/petstore/internal/petstore"
)

const itemColumns = "id, quantity, status"

func scanItem(row Row, i *petstore.InventoryItem) error {
	return row.Scan(&i.PetID, &i.Quantity, &i.Status)
}

// InventoryItem implements [petstore.Store].
func (s *Store) InventoryItem(ctx context.Context, workspace, petID int64) (petstore.InventoryItem, error) {
	p, err := s.StockedPet(ctx, workspace, petID)
	if err != nil {
		return petstore.InventoryItem{}, err
	}
	return p.Item(), nil
}

// Inventory implements [petstore.Store].
func (s *Store) Inventory(ctx context.Context, workspace int64, q petstore.InventoryQuery) ([]petstore.InventoryItem, error) {
	return read(ctx, s, inventoryList(&s.options.Dialect, workspace, &q).read)
}

func inventoryList(d *Dialect, workspace int64, q *petstore.InventoryQuery) *list[petstore.InventoryItem] {
	l := &list[petstore.InventoryItem]{dialect: d, table: "pets", columns: itemColumns, scan: scanItem, workspace: workspace, page: q.Page}
	l.column, l.values = "status", statuses(q.Statuses)
	if len(l.values) > 0 {
		l.index = "pets_by_status"
	}
	l.atMost(q.MaxQuantity)
	return l
}
