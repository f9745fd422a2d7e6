package postgres_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store/postgres"
)

// TestLostAnswer: a load whose commit got no answer asks the server what became
// of it.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	url := newDatabase(t)
	db := node(t, url, postgres.Options{})
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(t.Context()) })
	for end, want := range map[string]bool{"COMMIT": true, "ROLLBACK": false} {
		var xid string
		tx, err := c.Begin(t.Context())
		if err == nil {
			err = tx.QueryRow(t.Context(), "SELECT pg_current_xact_id()::text").Scan(&xid)
		}
		if err == nil {
			_, err = c.Exec(t.Context(), end)
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := postgres.Committed(t.Context(), db, xid); got != want {
			t.Errorf("after %s: committed = %v, want %v", end, got, want)
		}
	}
	if postgres.Committed(t.Context(), db, "4000000000") { // a server that crashed may never have heard of it
		t.Error("a transaction that there never was counts as committed")
	}
}

// BenchmarkLoad keeps pets by batches of so many.
func BenchmarkLoad(b *testing.B) {
	for _, size := range []int{64, 2000} {
		b.Run(fmt.Sprintf("units=%d", size), func(b *testing.B) {
			db := node(b, newDatabase(b), postgres.Options{})
			workspace, _ := newStocked(b, db, 1)
			kind := &petstore.Category{Name: "Dogs"}
			units := []petstore.Unit{{Category: kind}}
			for n := range b.N {
				u := petstore.Unit{In: kind, Pet: &petstore.StockedPet{Pet: petstore.Pet{Name: "Rex, the quiet", Status: petstore.Available}, Quantity: 3}}
				if _, err := u.Check(petstore.At(time.Now())); err != nil {
					b.Fatal(err)
				}
				if units = append(units, u); len(units) < size && n < b.N-1 {
					continue
				}
				if refused, err := db.Load(b.Context(), workspace, &petstore.Batch{Units: units}); err != nil || len(refused) > 0 {
					b.Fatal(refused, err)
				}
				units = units[:0]
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pets/s")
		})
	}
}
