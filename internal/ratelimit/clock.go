package ratelimit

import (
	"sync/atomic"
	"time"
)

const (
	recheck   = 10 * time.Millisecond // how soon a clock that was set is noticed
	tolerance = time.Millisecond      // what is not taken for a clock that was set
)

// SystemClock returns the system's clock for a limiter, at about half the price of time.Now, which is more than a
// decision costs. It reads the monotonic clock and adds it to a reading of the wall clock, which it compares with the
// wall clock every 10 ms, so that a clock that is set by 1 ms or more is followed within that time. It may be called
// concurrently.
func SystemClock() func() time.Time {
	c, r := &systemClock{}, newReading(time.Now())
	c.base.Store(&r)
	return c.now
}

type systemClock struct{ base atomic.Pointer[reading] }

// reading is one of both clocks, and how long after it they were last found to agree.
type reading struct {
	at     time.Time
	wall   time.Time // the same without its monotonic part, which makes it cheaper to add to
	agreed time.Duration
}

func newReading(t time.Time) reading { return reading{at: t, wall: t.Round(0)} }

func (c *systemClock) now() time.Time {
	r := c.base.Load()
	since := time.Since(r.at)
	if since-r.agreed >= recheck {
		return c.check(r)
	}
	return r.wall.Add(since)
}

func (c *systemClock) check(r *reading) time.Time {
	next := r.compare(time.Now())
	if next.at != r.at {
		next = r.compare(time.Now()) // the thread may have lost its core between the two clocks
	}
	c.base.Store(&next)
	return next.wall.Add(next.agreed)
}

// compare returns the reading with which to go on, given a new one: the old one for as long as the two agree.
func (r *reading) compare(t time.Time) reading {
	since := t.Sub(r.at)
	if !wasSet(t.Round(0).Sub(r.wall), since) {
		return reading{at: r.at, wall: r.wall, agreed: since}
	}
	return newReading(t)
}

// wasSet reports whether the wall clock was set while the given times passed on it and on the monotonic clock.
func wasSet(wall, monotonic time.Duration) bool { return (wall - monotonic).Abs() >= tolerance }
