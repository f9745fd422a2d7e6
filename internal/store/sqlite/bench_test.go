package sqlite

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
)

// benchPets is how many pets the benchmarks' workspace has.
const benchPets = 1000

func benchShop(b *testing.B) (*DB, int64) {
	b.Helper()
	db, ctx := openTest(b, Options{}), b.Context()
	w, err := db.CreateWorkspace(ctx, access.Workspace{Name: "bench", Plan: access.Free, Quota: access.FreeQuota}, "cli")
	if err != nil {
		b.Fatal(err)
	}
	s := petstore.NewService(db)
	if _, err := s.CreateCategory(ctx, w.ID, petstore.NewCategory{Name: "dogs"}, nil); err != nil {
		b.Fatal(err)
	}
	var wg sync.WaitGroup
	for range benchPets {
		wg.Go(func() {
			p, err := s.CreatePet(ctx, w.ID, petstore.NewPet{Name: "Rex the dog", CategoryID: 1}, nil)
			if err == nil {
				_, err = s.UpdateInventory(ctx, w.ID, p.ID, petstore.MaxQuantity, petstore.Condition{})
			}
			if err != nil {
				b.Error(err)
			}
		})
	}
	wg.Wait()
	return db, w.ID
}

// at runs op b.N times on n goroutines.
func at(b *testing.B, n int, op func(i int) error) {
	b.Helper()
	b.ReportAllocs()
	b.ResetTimer()
	var wg sync.WaitGroup
	for g := range n {
		wg.Go(func() {
			for i := g; i < b.N; i += n {
				if err := op(i); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func BenchmarkPet(b *testing.B) {
	db, workspace := benchShop(b)
	for _, n := range []int{1, 8, 64} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			at(b, n, func(i int) error {
				_, err := db.Pet(context.Background(), workspace, int64(i%benchPets)+1)
				return err
			})
		})
	}
}

func BenchmarkPets20(b *testing.B) {
	db, workspace := benchShop(b)
	for name, statuses := range map[string][]petstore.Status{"all": nil, "one status": {petstore.Available}, "two": {petstore.Available, petstore.Sold}} {
		b.Run(name, func(b *testing.B) {
			at(b, 1, func(i int) error {
				_, err := db.Pets(context.Background(), workspace, petstore.PetQuery{
					Page: petstore.Page{After: int64(i % (benchPets - 20)), Limit: 20}, Statuses: statuses})
				return err
			})
		})
	}
}

// BenchmarkPlaceOrder: place orders of many pets, with group commit and, for
// comparison, one transaction each.
func BenchmarkPlaceOrder(b *testing.B) {
	for _, n := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("group/%d", n), func(b *testing.B) {
			db, workspace := benchShop(b)
			s := petstore.NewService(db)
			at(b, n, func(i int) error { return place(s, workspace, i) })
		})
		b.Run(fmt.Sprintf("each/%d", n), func(b *testing.B) {
			db, workspace := benchShop(b)
			var one sync.Mutex
			s := petstore.NewService(db)
			at(b, n, func(i int) error {
				one.Lock()
				defer one.Unlock()
				return place(s, workspace, i)
			})
		})
	}
}

func place(s *petstore.Service, workspace int64, i int) error {
	_, err := s.CreateOrder(context.Background(), workspace, petstore.NewOrder{PetID: int64(i%benchPets) + 1, Quantity: 1}, nil)
	return err
}
