package ratelimit

import (
	"testing"
	"time"
)

func TestSystemClockTellsTheTime(t *testing.T) {
	t.Parallel()
	now := SystemClock()
	last := now()
	for end := time.Now().Add(5 * recheck); time.Now().Before(end); {
		before := time.Now()
		got := now()
		after := time.Now()
		if got.Before(before.Add(-tolerance)) || got.After(after.Add(tolerance)) {
			t.Fatalf("clock = %v between %v and %v, want it there to 1 ms", got, before, after)
		}
		if got.UnixNano() < last.UnixNano() {
			t.Fatalf("clock = %v after %v, want no step back", got, last)
		}
		last = got
	}
}

func TestWasSet(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		by   time.Duration
		want bool
	}{
		{0, false},
		{999 * time.Microsecond, false},
		{-999 * time.Microsecond, false},
		{time.Millisecond, true},
		{-time.Hour, true},
		{time.Hour, true},
	} {
		if got := wasSet(recheck+test.by, recheck); got != test.want {
			t.Errorf("wasSet by %v = %v, want %v", test.by, got, test.want)
		}
	}
}

func TestAReadingThatDisagreesIsReplaced(t *testing.T) {
	t.Parallel()
	stale, at := &systemClock{}, time.Now()
	stale.base.Store(&reading{at: at, wall: at.Round(0).Add(-time.Hour), agreed: -recheck})
	for range 2 {
		if got, want := stale.now(), time.Now(); want.Sub(got).Abs() > time.Second {
			t.Errorf("clock that was set by an hour = %v, want %v", got, want)
		}
	}
	r := newReading(time.Now())
	next := r.compare(r.at.Add(recheck))
	if next.at != r.at || next.agreed != recheck {
		t.Errorf("compare with a reading that agrees = %+v, want the old one, agreed after %v", next, recheck)
	}
}
