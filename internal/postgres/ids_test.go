package postgres_test

import (
	"sync"
	"testing"
	"time"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/postgres"
)

// TestIDs: a node that is alone leaves no gaps, also after a pause; nodes side
// by side never issue one twice, and what one issues after a moment is greater
// than all that was issued before it.
func TestIDs(t *testing.T) {
	t.Parallel()
	var (
		mu  sync.Mutex
		now = time.Now()
	)
	clock := func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	pass := func(d time.Duration) { mu.Lock(); defer mu.Unlock(); now = now.Add(d) }
	url := newDatabase(t)
	a := node(t, url, postgres.Options{Now: clock})
	b := node(t, url, postgres.Options{Now: clock})
	workspace, pet := newStocked(t, a, petstore.MaxQuantity)
	order := func(db *postgres.DB) int64 {
		t.Helper()
		made, err := petstore.NewService(db).CreateOrder(t.Context(), workspace, petstore.NewOrder{PetID: pet, Quantity: 1}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return made.ID
	}
	for want := int64(1); want <= 30; want++ {
		if got := order(a); got != want {
			t.Fatalf("id of order %d = %d", want, got)
		}
		if want%10 == 0 {
			pass(time.Minute)
		}
	}
	seen := map[int64]bool{}
	greatest := int64(30)
	for i := range 60 {
		id := order([]*postgres.DB{a, b}[i/2%2])
		if seen[id] || id <= 30 {
			t.Fatalf("id %d was issued twice", id)
		}
		seen[id] = true
		if i%6 == 0 {
			if id <= greatest {
				t.Errorf("id %d after a pause is not greater than %d", id, greatest)
			}
		}
		greatest = max(greatest, id)
		if i%6 == 5 {
			pass(time.Minute)
		}
	}
}
