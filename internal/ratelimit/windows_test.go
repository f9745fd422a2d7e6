package ratelimit

import "testing"

func TestCeil(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ ns, want int64 }{
		{0, 0}, {1, 1}, {second - 1, 1}, {second, 1}, {second + 1, 2}, {-1, 0}, {-second, -1},
	} {
		if got := ceil(test.ns, second); got != test.want {
			t.Errorf("ceil(%d, second) = %d, want %d", test.ns, got, test.want)
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
