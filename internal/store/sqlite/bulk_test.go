package sqlite_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store/sqlite"
)

func BenchmarkLoad(b *testing.B) {
	db, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "petstore.db"), sqlite.Options{Readers: 1})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	w, err := db.CreateWorkspace(b.Context(), access.Workspace{Name: "bench", Plan: access.Free, Quota: access.FreeQuota}, "test")
	if err != nil {
		b.Fatal(err)
	}
	kind := &petstore.Category{Name: "Dogs"}
	units := []petstore.Unit{{Category: kind}}
	now := petstore.At(time.Now())
	for n := range b.N {
		u := petstore.Unit{In: kind, Pet: &petstore.StockedPet{Pet: petstore.Pet{Name: fmt.Sprintf("Pet number %d, the quiet", n), Status: petstore.Available}, Quantity: 3}}
		if _, err := u.Check(now); err != nil {
			b.Fatal(err)
		}
		units = append(units, u)
		if len(units) == 2000 || n == b.N-1 {
			if refused, err := db.Load(b.Context(), w.ID, &petstore.Batch{Units: units}); err != nil || len(refused) > 0 {
				b.Fatal(refused, err)
			}
			units = units[:0]
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pets/s")
}
