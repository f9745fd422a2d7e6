package postgres_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store/postgres"
)

// TestIDs: nodes that take turns number orders without gaps. Side by side they
// never issue an id twice, and an order that is placed after another was
// confirmed has the greater id, whichever nodes placed them.
func TestIDs(t *testing.T) {
	t.Parallel()
	url := newDatabase(t)
	nodes := []*postgres.DB{node(t, url, postgres.Options{}), node(t, url, postgres.Options{})}
	workspace, pet := newStocked(t, nodes[0], petstore.MaxQuantity)
	order := func(db *postgres.DB) int64 {
		made, err := petstore.NewService(db).CreateOrder(t.Context(), workspace, petstore.NewOrder{PetID: pet, Quantity: 1}, nil)
		if err != nil {
			t.Error(err)
		}
		return made.ID
	}
	for want := int64(1); want <= 30; want++ {
		if got := order(nodes[want/2%2]); got != want {
			t.Fatalf("id of order %d = %d", want, got)
		}
	}
	var (
		wg        sync.WaitGroup
		seen      sync.Map
		confirmed atomic.Int64 // the greatest id
	)
	confirmed.Store(30)
	for i := range 16 {
		wg.Go(func() {
			for range 20 {
				before := confirmed.Load()
				id := order(nodes[i%2])
				if _, twice := seen.LoadOrStore(id, true); twice {
					t.Errorf("id %d was issued twice", id)
				}
				if id <= before {
					t.Errorf("id %d was issued when %d was confirmed", id, before)
				}
				for old := confirmed.Load(); id > old && !confirmed.CompareAndSwap(old, id); old = confirmed.Load() {
				}
			}
		})
	}
	wg.Wait()
}
