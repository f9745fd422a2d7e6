package ratelimit

import "time"

// Times in the limiter's state are Unix nanoseconds.
const (
	second = int64(time.Second)
	minute = int64(time.Minute)
	day    = 24 * int64(time.Hour)
)

// windows is the state of the two windows of one workspace or address. It is a value, and the functions on it are pure,
// so that any store of such values can be decided upon.
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
	day         int64 // days since the Unix epoch
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
	case w.day < today:
		w.day, w.dayUsed = today, 0
	case w.day > today+1:
		w.day = today
	}
	return w
}

// admit returns what the windows decide on a request at now, and the windows after it. A refusal counts nothing. If both
// are full, the one that resets later refuses, so that waiting for it is enough.
func (w windows) admit(l Limits, now int64) (windows, Outcome) {
	w = w.at(now)
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

// end returns when the window that refused resets, and now for an admission.
func (w windows) end(o Outcome, now int64) int64 {
	switch o {
	case RefusedMinute:
		return w.minuteEnd()
	case RefusedDay:
		return w.dayEnd()
	}
	return now
}

// live reports whether forgetting the windows would give back requests that were used.
func (w windows) live(now int64) bool {
	w = w.at(now)
	return w.minuteUsed > 0 || w.dayUsed > 0
}

// decision describes the windows after an outcome at now.
func (w windows) decision(o Outcome, l Limits, now int64) Decision {
	d := Decision{Outcome: o}
	w.describe(&d, l)
	if o != Admitted {
		d.RetryAfter = max(1, ceilSeconds(w.end(o, now)-now))
	}
	return d
}

func (w windows) describe(d *Decision, l Limits) {
	d.Minute = Window{Limit: l.PerMinute, Used: w.minuteUsed, Reset: ceilSeconds(w.minuteEnd())}
	d.Day = Window{Limit: l.PerDay, Used: w.dayUsed, Reset: (w.day + 1) * (day / second)}
}

// dayOf returns the UTC day of an instant, in days since the Unix epoch.
func dayOf(now int64) int64 {
	d := now / day
	if now%day < 0 {
		d--
	}
	return d
}

// ceilSeconds returns nanoseconds as whole seconds, rounded up.
func ceilSeconds(ns int64) int64 {
	s := ns / second
	if ns%second > 0 {
		s++
	}
	return s
}
