package postgres

import (
	"testing"

	"example.com/petstore/internal/ratelimit"
)

// TestSharedWindow: the most that a node saw of a window holds, whoever saves
// last.
func TestSharedWindow(t *testing.T) {
	t.Parallel()
	url := newDatabase(t)
	a, b := node(t, url, Options{}), node(t, url, Options{})
	window := func(minute, inMinute, day, inDay int64) ratelimit.SavedWindow {
		return ratelimit.SavedWindow{Subject: "w:1", MinuteStart: minute, MinuteUsed: inMinute, Day: day, DayUsed: inDay}
	}
	for _, step := range []struct {
		by          *DB
		saved, want ratelimit.SavedWindow
	}{
		{a, window(60, 9, 20500, 90), window(60, 9, 20500, 90)},
		{b, window(60, 8, 20500, 91), window(60, 9, 20500, 91)},
		{b, window(120, 1, 20501, 2), window(120, 1, 20501, 2)},
	} {
		must(t, step.by.SaveLimits(t.Context(), []ratelimit.SavedWindow{step.saved}))
		if got, err := b.LoadLimits(t.Context()); err != nil || len(got) != 1 || got[0] != step.want {
			t.Errorf("LoadLimits = %+v, %v, want %+v", got, err, step.want)
		}
	}
}
