package sqlite

import (
	"maps"
	"slices"
	"testing"

	"example.com/petstore/internal/petstore"
	"pgregory.net/rapid"
	"zombiezen.com/go/sqlite"
)

// TestRecent holds the latest orders against a map, whatever their ids.
func TestRecent(t *testing.T) {
	t.Parallel()
	db := openTest(t, Options{Readers: 1})
	c, err := db.reader(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	kept := func(r *rapid.T, have recent) (again recent) {
		if _, err := c.one("SELECT ?", func(row *sqlite.Stmt) { again = scanRecent(row, 0) }, have.column()); err != nil {
			r.Fatal(err)
		}
		return again
	}
	rapid.Check(t, func(r *rapid.T) {
		var have recent
		want, last := map[int64]bool{}, int64(0)
		r.Repeat(map[string]func(*rapid.T){
			"add": func(r *rapid.T) {
				id, complete := last+rapid.SampledFrom([]int64{1, 63, 64, 1 << 30, 1 << 52}).Draw(r, "step"), rapid.Bool().Draw(r, "complete")
				if id > petstore.MaxID {
					r.Skip("no such id")
				}
				switch ok := have.add(id, complete); {
				case ok != (len(want) < mostRecent):
					r.Fatalf("add(%d) = %t with %d orders", id, ok, len(want))
				case ok:
					want[id], last = complete, id
				}
			},
			"change": func(r *rapid.T) {
				id, remove := rapid.SampledFrom(append(slices.Sorted(maps.Keys(want)), last+1)).Draw(r, "order"), rapid.Bool().Draw(r, "remove")
				_, is := want[id]
				if found := have.change(id, remove); found != is {
					r.Fatalf("change(%d) = %t, want %t", id, found, is)
				}
				if remove {
					delete(want, id)
				} else if is {
					want[id] = true
				}
			},
			"": func(r *rapid.T) {
				before := len(have)
				have = kept(r, have)
				var ids []int64
				for id := range have.all() {
					ids = append(ids, id)
				}
				if !maps.Equal(maps.Collect(have.all()), want) || !slices.IsSorted(ids) || len(have) != before || before%recentStep != 0 {
					r.Fatalf("orders %v in a row of %d, want %v in %d", ids, len(have), want, before)
				}
			},
		})
	})
	db.release(c)
}
