package sqlite

import (
	"testing"

	"example.com/petstore/internal/petstore"
)

// TestListsSeeOneState: a pet that changes its status and its quantity while it
// is listed is in the list once.
func TestListsSeeOneState(t *testing.T) {
	t.Parallel()
	db := openForWorkspace(t)
	items := make([]petstore.InventoryItem, 60)
	for i := range items {
		items[i] = petstore.InventoryItem{PetID: int64(i) + 1, Quantity: 1, Status: petstore.Statuses()[i%2]}
	}
	stock(t, db, items, nil)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 150 {
			err := db.change(t.Context(), func(c *conn) error {
				return c.exec(`UPDATE pets SET status=CASE status WHEN 'available' THEN 'pending' ELSE 'available' END,
					quantity=9-quantity WHERE workspace=1 AND id%2=1`)
			})
			if err != nil {
				t.Error(err)
				return
			}
		}
	}()
	both := petstore.PetQuery{Page: petstore.Page{Limit: 1_000}, Statuses: petstore.Statuses()[:2]}
	most := int64(10)
	few := petstore.InventoryQuery{Page: both.Page, MaxQuantity: &most}
	for writing := true; writing && !t.Failed(); {
		select {
		case <-done:
			writing = false
		default:
		}
		if got, err := db.Pets(t.Context(), 1, both); err != nil || len(got) != len(items) {
			t.Errorf("Pets of both statuses = %d, %v, want %d", len(got), err, len(items))
		}
		if got, err := db.Inventory(t.Context(), 1, few); err != nil || len(got) != len(items) {
			t.Errorf("Inventory of at most %d = %d, %v, want %d", most, len(got), err, len(items))
		}
	}
	<-done
}
