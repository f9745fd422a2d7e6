package postgres_test

import (
	"testing"

	"example.com/petstore/internal/ratelimit"
	"example.com/petstore/internal/store/postgres"
)

// TestSharedWindow: the most that a node saw of a window holds, whoever saves
// last.
func TestSharedWindow(t *testing.T) {
	t.Parallel()
	url := newDatabase(t)
	a, b := node(t, url, postgres.Options{}), node(t, url, postgres.Options{})
	save := func(db *postgres.DB, w ratelimit.SavedWindow) {
		t.Helper()
		w.Subject = "w:1"
		must(t, db.SaveLimits(t.Context(), []ratelimit.SavedWindow{w}))
		got, err := db.LoadLimits(t.Context())
		if err != nil || len(got) != 1 {
			t.Fatalf("LoadLimits = %+v, %v", got, err)
		}
	}
	want := func(w ratelimit.SavedWindow) {
		t.Helper()
		w.Subject = "w:1"
		if got, err := b.LoadLimits(t.Context()); err != nil || len(got) != 1 || got[0] != w {
			t.Errorf("LoadLimits = %+v, %v, want %+v", got, err, w)
		}
	}
	save(a, ratelimit.SavedWindow{MinuteStart: 60, MinuteUsed: 9, Day: 20500, DayUsed: 90})
	save(b, ratelimit.SavedWindow{MinuteStart: 60, MinuteUsed: 8, Day: 20500, DayUsed: 91})
	want(ratelimit.SavedWindow{MinuteStart: 60, MinuteUsed: 9, Day: 20500, DayUsed: 91})
	save(b, ratelimit.SavedWindow{MinuteStart: 120, MinuteUsed: 1, Day: 20501, DayUsed: 2})
	want(ratelimit.SavedWindow{MinuteStart: 120, MinuteUsed: 1, Day: 20501, DayUsed: 2})
}
