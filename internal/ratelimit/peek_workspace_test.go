package ratelimit

import (
	"testing"
	"time"
)

// TestPeekWorkspace: what keys used stays in the windows of their workspace when they are gone.
func TestPeekWorkspace(t *testing.T) {
	t.Parallel()
	onEach(t, DefaultConfig(), func(t *testing.T, l Limiter, clock *testClock) {
		limits := Limits{PerMinute: 10, PerDay: 100}
		want := func(workspace, minute, day int64) {
			t.Helper()
			d := l.PeekWorkspace(t.Context(), workspace, limits)
			if !d.Admitted() || d.Minute.Used != minute || d.Day.Used != day || d.Minute.Limit != 10 || d.Day.Limit != 100 {
				t.Errorf("PeekWorkspace(%d) = %+v, want admitted with %d of 10 and %d of 100 used", workspace, d, minute, day)
			}
		}
		want(1, 0, 0)
		c := l.Caller(1, "k", limits)
		for range 3 {
			l.Admit(t.Context(), c)
		}
		want(1, 3, 3)
		want(2, 0, 0)
		l.Drop("k")
		want(1, 3, 3)
		clock.advance(time.Minute)
		want(1, 0, 3)
		clock.advance(24 * time.Hour)
		want(1, 0, 0)
	})
}
