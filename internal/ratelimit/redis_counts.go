package ratelimit

// shared is what a node knows of a workspace that Redis counts. The workspace's mutex guards it; workspace.windows is
// what the node goes on from when Redis is away: known, with owed.
type shared struct {
	key      string // in Redis
	known    windows
	owed     windows // what was admitted without Redis, and Redis does not know yet
	asked    int64   // numbers the questions
	answered int64   // the last of them whose answer was taken over
	limits   Limits  // the limits that were last given
	doubted  int64   // the last question before they were: what was learned by then of runs may be over
}

// none reports whether nothing is counted.
func (w windows) none() bool { return w.minuteUsed == 0 && w.dayUsed == 0 }

// most returns how many requests are counted, in a window at least.
func (w windows) most() int64 { return max(w.minuteUsed, w.dayUsed) }

// means reports whether two windows count the same.
func (w windows) means(other windows) bool {
	if w.minuteUsed == 0 {
		w.minuteStart = other.minuteStart
	}
	return w == other
}

// plus returns the windows with other requests added.
func (w windows) plus(add windows, now int64) windows {
	if add.none() {
		return w
	}
	add = add.at(now)
	if add.minuteUsed > 0 {
		w.minuteStart = w.minuteBegin(add)
		w.minuteUsed += add.minuteUsed
	}
	if add.dayUsed > 0 && add.day > w.day {
		w.day = add.day
	}
	if add.day == w.day {
		w.dayUsed += add.dayUsed
	}
	return w
}

// minuteBegin returns the earlier beginning of two minutes that run, so that no Reset that was told comes too early.
func (w windows) minuteBegin(other windows) int64 {
	if w.minuteUsed == 0 {
		return other.minuteStart
	}
	return min(w.minuteStart, other.minuteStart)
}

// owe notes one request, admitted in the given windows, that Redis does not know.
func (w windows) owe(in windows) windows {
	if w.minuteStart != in.minuteStart {
		w.minuteStart, w.minuteUsed = in.minuteStart, 0
	}
	if w.day != in.day {
		w.day, w.dayUsed = in.day, 0
	}
	w.minuteUsed++
	w.dayUsed++
	return w
}

// learn takes over an answer, unless a later question has been answered already.
func (s *shared) learn(a *answer, q *question, view *windows) {
	if q.sequence > s.answered {
		s.answered = q.sequence
		latest := a.windows
		if s.known.minuteStart == latest.minuteStart {
			latest.minuteUsed = max(latest.minuteUsed, s.known.minuteUsed)
		}
		if s.known.day == latest.day {
			latest.dayUsed = max(latest.dayUsed, s.known.dayUsed)
		}
		s.known = latest
		*view = latest.plus(s.owed, a.now)
	}
}
