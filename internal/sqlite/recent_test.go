package sqlite

import (
	"maps"
	"slices"
	"testing"

	"example.com/petstore/internal/petstore"
	"pgregory.net/rapid"
)

// TestRecent holds the latest orders against a map, whatever their ids.
func TestRecent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		var have recent
		want, last := map[int64]bool{}, int64(0)
		r.Repeat(map[string]func(*rapid.T){
			"add": func(r *rapid.T) {
				id, complete := last+rapid.SampledFrom([]int64{0, 1, 63, 64, 1 << 30, 1 << 52}).Draw(r, "step"), rapid.Bool().Draw(r, "complete")
				if id > petstore.MaxID {
					r.Skip("no such id")
				}
				switch ok := have.add(id, complete); {
				case ok && (len(want) == 0 || id > slices.Max(slices.Collect(maps.Keys(want)))):
					want[id], last = complete, id
				case ok:
					r.Fatalf("add(%d) after %d = true", id, last)
				case id > last && len(want) < 7: // of the longest
					r.Fatalf("add(%d) = false with %d orders, want room", id, len(want))
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
				got := maps.Collect(have.all())
				if n := len(have.column()); !maps.Equal(got, want) || n%recentStep != 0 || n > mostRecent || have.earlier() {
					r.Fatalf("orders %v in %d bytes, want %v", got, n, want)
				}
			},
		})
	})
}

// TestRecentOfNull: what is written for a row that was NULL still says that there may
// be earlier orders.
func TestRecentOfNull(t *testing.T) {
	t.Parallel()
	var null recent
	null.empty()
	if column := null.column(); len(column) == 0 || column[0] != hasEarlier {
		t.Errorf("column() = %v, want it to say that there may be earlier orders", column)
	}
}

// TestDamagedRecent: whatever stands in the column, no order comes twice, and one
// that is added is there.
func TestDamagedRecent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		var have recent
		have.length = copy(have.bytes[:], rapid.SliceOfN(rapid.Byte(), 0, mostRecent).Draw(r, "column"))
		last, ids := int64(0), 0
		for id := range have.all() {
			if id <= last {
				r.Fatalf("%d comes after %d", id, last)
			}
			last, ids = id, ids+1
		}
		added := have.add(last+1, true)
		got := slices.Collect(maps.Keys(maps.Collect(have.all())))
		if added != slices.Contains(got, last+1) || added && len(got) != ids+1 {
			r.Fatalf("added %t, and there are %v", added, got)
		}
	})
}
