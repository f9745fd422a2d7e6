package ratelimit

import "sync/atomic"

// A serverClock estimates another machine's clock from the instants that come with its answers. Each answer says that
// the difference to our clock lies between two bounds, apart by the time that the call took. The bounds of all answers
// together are kept; an answer that contradicts them, since a clock was set or has drifted, begins afresh.
//
// Our clock is a monotonic one: only the other can be set.
type serverClock struct {
	ticks  func() int64 // our clock, in nanoseconds
	bounds atomic.Pointer[bounds]
}

// bounds of what is to be added to our clock.
type bounds struct{ low, high int64 }

// learn takes an answer in which the server's clock stood at the given instant, to a call begun and ended by our clock.
func (c *serverClock) learn(server, began, ended int64) {
	b := bounds{low: server - ended, high: server - began + microsecond} // the script's clock rounds down
	old := c.bounds.Load()
	if old != nil {
		if both := (bounds{max(b.low, old.low), min(b.high, old.high)}); both.low <= both.high {
			b = both
		}
		if b == *old {
			return
		}
	}
	c.bounds.CompareAndSwap(old, &b) // if another answer was faster, the next will do
}

// now returns the bounds of the server's clock, and whether they are known.
func (c *serverClock) now() (earliest, latest int64, known bool) {
	b := c.bounds.Load()
	if b == nil {
		return 0, 0, false
	}
	t := c.ticks()
	return t + b.low, t + b.high, true
}
