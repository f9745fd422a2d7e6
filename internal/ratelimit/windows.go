package ratelimit

import "time"

// Times in the limiter's state are Unix nanoseconds.
const (
	second = int64(time.Second)
	minute = int64(time.Minute)
	day    = 24 * int64(time.Hour)
)

// windows is the state of the two windows of one subject. It is a value, and its methods are pure. decide.lua has current,
// atLeast and admit too: change both together, the tests compare one with the other.
//
// The minute runs for 60 s from the request that opened it. The day is a UTC day. The clock may be wrong, and may be set:
//   - a minute that starts in the future starts now instead, with what it has used, so that it ends within 60 s;
//   - a day that is one ahead goes on counting until it is over: a clock that is set back over midnight and passes it
//     again hands out no second day;
//   - a day that is further ahead becomes today with what it has used: its caller waits for the next midnight at most.
type windows struct {
	minuteStart int64 // no meaning while minuteUsed is 0
	minuteUsed  int64
	day         int64 // days since the Unix epoch; no meaning while dayUsed is 0
	dayUsed     int64
}

// current returns the windows at now: those that are over begin anew.
func (w windows) current(now int64) windows {
	if w.minuteUsed == 0 || now-w.minuteStart >= minute {
		w.minuteStart, w.minuteUsed = now, 0
	} else if w.minuteStart > now {
		w.minuteStart = now
	}
	switch today := dayOf(now); {
	case w.dayUsed == 0 || w.day < today:
		w.day, w.dayUsed = today, 0
	case w.day > today+1:
		w.day = today
	}
	return w
}

// atLeast returns the windows with no fewer requests used than others count. Both are current. A minute that others opened
// earlier ends when theirs does.
func (w windows) atLeast(others windows) windows {
	if others.minuteUsed > 0 {
		if w.minuteUsed == 0 || others.minuteStart < w.minuteStart {
			w.minuteStart = others.minuteStart
		}
		w.minuteUsed = max(w.minuteUsed, others.minuteUsed)
	}
	if others.dayUsed > 0 && others.day >= w.day {
		w.day, w.dayUsed = others.day, max(w.dayUsed, others.dayUsed)
	}
	return w
}

// admit decides on one request and returns the windows after it. The windows are current. A refusal counts nothing. If
// both windows are full, the one that resets later refuses, so that waiting for it is enough.
func (w windows) admit(l Limits) (windows, Outcome) {
	minuteFull, dayFull := w.minuteUsed >= l.PerMinute, w.dayUsed >= l.PerDay
	if !minuteFull && !dayFull {
		w.minuteUsed++
		w.dayUsed++
		return w, Admitted
	}
	if dayFull && (!minuteFull || w.dayEnd() >= w.minuteEnd()) {
		return w, RefusedDay
	}
	return w, RefusedMinute
}

func (w windows) minuteEnd() int64 { return w.minuteStart + minute }
func (w windows) dayEnd() int64    { return (w.day + 1) * day }

// reset returns when the window that refused resets.
func (w windows) reset(o Outcome) int64 {
	if o == RefusedMinute {
		return w.minuteEnd()
	}
	return w.dayEnd()
}

// used reports whether forgetting the windows would give back requests that were used.
func (w windows) used() bool { return w.minuteUsed > 0 || w.dayUsed > 0 }

// describe returns a decision that says how the windows stand.
func (w windows) describe(l Limits) Decision {
	return Decision{
		Minute: Window{Limit: l.PerMinute, Used: w.minuteUsed, Reset: ceil(w.minuteEnd(), second)},
		Day:    Window{Limit: l.PerDay, Used: w.dayUsed, Reset: w.dayEnd() / second},
	}
}

// newDecision describes an outcome at now, after which the windows stand as given. bannedUntil is the end of the ban if
// the outcome is Banned.
func newDecision(w windows, o Outcome, bannedUntil int64, l Limits, now int64) Decision {
	d := w.describe(l)
	d.Outcome = o
	if o == Admitted {
		return d
	}
	var wait int64
	if _, full := w.admit(l); full != Admitted {
		wait = w.reset(full)
	}
	if o == Banned {
		d.BannedUntil = ceil(bannedUntil, second)
		wait = max(wait, bannedUntil)
	}
	d.RetryAfter = max(1, ceil(wait-now, second))
	return d
}

// dayOf returns the UTC day of an instant, in days since the Unix epoch.
func dayOf(now int64) int64 { return -ceil(-now, day) }

// ceil returns n in units, rounded up.
func ceil(n, unit int64) int64 {
	units := n / unit
	if n%unit > 0 {
		units++
	}
	return units
}
