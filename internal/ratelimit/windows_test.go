package ratelimit

import (
	"testing"
	"time"
)

func TestCeilSeconds(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ ns, want int64 }{
		{0, 0}, {1, 1}, {second - 1, 1}, {second, 1}, {second + 1, 2}, {-1, 0}, {-second, -1},
	} {
		if got := ceilSeconds(test.ns); got != test.want {
			t.Errorf("ceilSeconds(%d) = %d, want %d", test.ns, got, test.want)
		}
	}
}

func TestDayOf(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ now, want int64 }{{0, 0}, {day - 1, 0}, {day, 1}, {-1, -1}, {-day, -1}, {-day - 1, -2}} {
		if got := dayOf(test.now); got != test.want {
			t.Errorf("dayOf(%d) = %d, want %d", test.now, got, test.want)
		}
	}
}

// A request that read the clock, and was then overtaken by another one, is decided at the time when its turn comes.
func TestInOrderReadsTheClockAgainWhenOvertaken(t *testing.T) {
	t.Parallel()
	clock := newClock(noon)
	m := NewMemory(DefaultConfig(), clock.Now)
	last := noon.UnixNano() - 1
	if got, want := m.inOrder(last-int64(time.Second), &last), noon.UnixNano(); got != want || last != want {
		t.Errorf("inOrder of an overtaken request = %d, last %d, want %d", got, last, want)
	}
	clock.advance(-time.Hour)
	if got, want := m.inOrder(clock.Now().UnixNano(), &last), noon.Add(-time.Hour).UnixNano(); got != want || last != want {
		t.Errorf("inOrder after the clock was set back = %d, last %d, want %d", got, last, want)
	}
}
