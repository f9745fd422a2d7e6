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
	return inventoryList(&s.options.Dialect, workspace, &q).read(ctx, s)
}

// lowStock is the greatest quantity in the index of low stock. Pets are tested one by one
// for greater ones: with every quantity in the index, each order would change it.
const lowStock = 100

func inventoryList(d *Dialect, workspace int64, q *petstore.InventoryQuery) *list[petstore.InventoryItem] {
	l := &list[petstore.InventoryItem]{dialect: d, table: "pets", columns: itemColumns, scan: scanItem, workspace: workspace, page: q.Page}
	l.column, l.values = "status", statuses(q.Statuses)
	if len(l.values) > 0 {
		l.index = "pets_by_status"
	}
	l.atMost(q.MaxQuantity)
	return l
}

// atMost selects the pets that have at most so much stock; nil is any. Nothing but their
// statuses may be asked for besides.
func (l *list[T]) atMost(quantity *int64) {
	if quantity == nil {
		return
	}
	l.tests = []condition{{"quantity <= ?", *quantity}}
	if *quantity <= lowStock {
		values := l.values
		if len(values) == 0 {
			values = statuses(petstore.Statuses())
		}
		l.findByValue("pets_by_low_stock", "status", values, condition{l.dialect.LowStock, *quantity})
	}
}
