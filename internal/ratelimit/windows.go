package ratelimit

import "time"

// Times in the limiter's state are Unix nanoseconds.
const (
	second = int64(time.Second)
	minute = int64(time.Minute)
	day    = 24 * int64(time.Hour)
)

// windows is the state of the two windows of one subject. It is a value, and the functions on it are pure. decide.lua has
// the same under the same names: change both together, the tests hold one against the other.
//
// The minute runs for 60 s from the request that opened it. The day is a UTC day. The clock may be wrong, and may be set:
//   - a minute that starts in the future starts now instead, with what it has used: it ends within 60 s;
//   - a day that is one ahead goes on counting until it is over: a clock that is set back over midnight and passes it
//     again hands out no second day;
//   - a day that is further ahead, left by a clock that was wrong, becomes today with what it has used: its caller waits
//     for the next midnight at most.
type windows struct {
	minuteStart int64 // no meaning while minuteUsed is 0
	minuteUsed  int64
	day         int64 // days since the Unix epoch; no meaning while dayUsed is 0
	dayUsed     int64
}

// at returns the windows as they stand at now, with those that are over begun afresh.
func (w windows) at(now int64) windows {
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

// admit returns what the windows, which are as they stand now, decide on a request, and the windows after it. A refusal
// counts nothing. If both are full, the one that resets later refuses, so that waiting for it is enough.
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

// plus returns the windows with the requests of others added. Both stand at one instant.
func (w windows) plus(more windows) windows {
	if more.minuteUsed > 0 {
		if w.minuteUsed == 0 || more.minuteStart < w.minuteStart { // no Reset that was told comes too early
			w.minuteStart = more.minuteStart
		}
		w.minuteUsed += more.minuteUsed
	}
	if more.dayUsed > 0 && more.day >= w.day {
		w.day, w.dayUsed = more.day, w.dayUsed+more.dayUsed
	}
	return w
}

// minus returns the windows without the requests that others count in the same minute and on the same day.
func (w windows) minus(other windows) windows {
	if w.minuteStart == other.minuteStart {
		w.minuteUsed = max(0, w.minuteUsed-other.minuteUsed)
	}
	if w.day == other.day {
		w.dayUsed = max(0, w.dayUsed-other.dayUsed)
	}
	return w
}

// live reports whether forgetting the windows would give back requests that were used.
func (w windows) live(now int64) bool {
	w = w.at(now)
	return w.minuteUsed > 0 || w.dayUsed > 0
}

// describe returns a decision that says how the windows stand.
func (w windows) describe(l Limits) Decision {
	return Decision{
		Minute: Window{Limit: l.PerMinute, Used: w.minuteUsed, Reset: ceil(w.minuteEnd(), second)},
		Day:    Window{Limit: l.PerDay, Used: w.dayUsed, Reset: w.dayEnd() / second},
	}
}

// dayOf returns the UTC day of an instant, in days since the Unix epoch.
func dayOf(now int64) int64 { return floor(now, day) }

// floor returns how many whole units fit into n, rounded down.
func floor(n, unit int64) int64 { return -ceil(-n, unit) }

// ceil returns n in units, rounded up.
func ceil(n, unit int64) int64 {
	units := n / unit
	if n%unit > 0 {
		units++
	}
	return units
}

// raised returns the windows with no fewer requests used than others count of the same minute and the same day.
func (w windows) raised(other windows) windows {
	if w.minuteStart == other.minuteStart {
		w.minuteUsed = max(w.minuteUsed, other.minuteUsed)
	}
	if w.day == other.day {
		w.dayUsed = max(w.dayUsed, other.dayUsed)
	}
	return w
}
