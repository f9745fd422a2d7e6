package node

import (
	"slices"
	"testing"
	"time"

	"example.com/petstore/internal/ratelimit"
)

// TestBusiest: the keys that were used today are read at the start, those that were used most if there are many.
func TestBusiest(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	today := now.Unix() / 86400
	rows := []ratelimit.SavedKey{
		{KeyID: "some", Day: today, Admitted: 2}, {KeyID: "yesterday's", Day: today - 1, Admitted: 9},
		{KeyID: "most", Day: today, Admitted: 1, Refused: 4}, {KeyID: "few", Day: today, Refused: 1},
	}
	if got, want := busiest(rows, now), []string{"most", "some", "few"}; !slices.Equal(got, want) {
		t.Errorf("busiest = %v, want %v", got, want)
	}
	if got := busiest(slices.Repeat(rows, mostLoaded), now); len(got) != mostLoaded || got[0] != "most" || got[mostLoaded-1] != "most" {
		t.Errorf("busiest of many = %d keys, want %d, the most used", len(got), mostLoaded)
	}
	if rows[0].KeyID != "some" {
		t.Error("the rows were changed")
	}
}
