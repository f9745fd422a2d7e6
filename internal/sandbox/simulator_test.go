package sandbox

import (
	"fmt"
	"testing"
	"time"
)

// TestSimulatorIsBounded: of each shop so many ids are remembered, those that were used last, and of shops that nobody uses
// any more nothing.
func TestSimulatorIsBounded(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s := &Simulator{now: func() time.Time { return now }, seen: map[int64][]series{}}
	applies := func(shop int64, id string) bool { return s.Applies(shop, &Fault{Code: "x", Times: 1, ID: id}) }
	for shop := range int64(50) {
		for i := range 3 * mostSeries {
			now = now.Add(time.Millisecond)
			if !applies(shop, fmt.Sprint(i)) {
				t.Fatalf("the first request of %d in %d does not fail", i, shop)
			}
		}
		if len(s.seen[shop]) != mostSeries {
			t.Errorf("of a shop %d ids are remembered, want %d", len(s.seen[shop]), mostSeries)
		}
	}
	if applies(7, fmt.Sprint(3*mostSeries-1)) {
		t.Error("the id that was used last is forgotten")
	}
	now = now.Add(keepSeries)
	if applies(99, "a"); len(s.seen) != 1 {
		t.Errorf("%d shops are remembered after an hour, want one", len(s.seen))
	}
	if !s.Applies(1, &Fault{Code: "x"}) {
		t.Error("a fault without an id does not apply")
	}
}
