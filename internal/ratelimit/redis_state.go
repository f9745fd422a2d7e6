package ratelimit

import (
	"maps"
	"slices"
)

// remote is what a node keeps of a subject that Redis counts, beside the windows that Redis is known to have. The
// subject's mutex guards it. A Memory has none.
type remote struct {
	calls    int64   // numbers them
	answered int64   // the latest call whose answer was taken over
	asking   int64   // calls under way, each of which Redis may admit
	local    windows // what this node admitted without Redis
	reported windows // as much of it as Redis is known to have
}

// unreported returns the local admissions that Redis is not known to have, as they stand at now.
func (m *remote) unreported(now int64) windows {
	if m == nil {
		return windows{}
	}
	return m.local.at(now).minus(m.reported.at(now))
}

// known returns all that is known to be admitted, as it stands at now. The subject's mutex is held.
func (s *subject) known(now int64) windows { return s.windows.at(now).plus(s.remote.unreported(now)) }

// ask returns the next question about a subject, and about one of its keys or nil. The subject's mutex is held.
func (s *subject) ask(c *Caller, mode int) question {
	if s.remote == nil {
		s.remote = &remote{}
	}
	m := s.remote
	m.calls++
	q := question{
		subject: s.name, mode: mode, limits: s.limits, known: s.windows, local: m.local, reported: m.reported, number: m.calls,
	}
	if c != nil {
		q.keyID, q.override, q.clean = c.id, c.override, c.penalty.cleanSince
	}
	return q
}

// learn takes over the answer to a question that changed something in Redis. Answers may come in another order than they
// were given: an older one can only raise counts. What this node admitted without Redis stays apart, so that an answer
// that comes while Redis is going away takes nothing of it back. The subject's mutex is held.
func (s *subject) learn(c *Caller, q *question, a *answer) {
	m := s.remote
	if q.number < m.answered {
		s.windows = s.windows.raised(a.windows)
		return
	}
	m.answered = q.number
	m.reported = q.local
	s.windows = a.windows.raised(s.windows)
	if c == nil || c.override != q.override { // a ban was set or lifted meanwhile
		return
	}
	if _, until := c.penalty.banAt(a.now); until == 0 || a.penalty.banUntil != 0 { // or else a ban of the store runs
		c.penalty, c.override = a.penalty, nil
	}
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

// admitted notes a request that this node admitted without Redis, after which the windows stand as given.
func (m *remote) admitted(in windows, now int64) {
	m.local, m.reported = m.local.at(now), m.reported.at(now)
	if m.local.minuteUsed == 0 {
		m.local.minuteStart = in.minuteStart
	}
	m.local.day = in.day // today, or the one that is counted ahead of a clock that was set back
	m.local.minuteUsed++
	m.local.dayUsed++
}

// A banChange is that a ban was set or lifted at an instant, which ends what stood against the key before.
type banChange struct {
	when  int64
	level int64 // of the ban, 0 if it has none, -1: it was lifted
}

// then returns the change after another one, to a ban or with nil to none. A ban that is over has its level alone.
func (o *banChange) then(b *Ban, now int64) *banChange {
	switch {
	case b == nil:
		return &banChange{when: now, level: -1}
	case b.Until.UnixNano() > now:
		return &banChange{when: now, level: int64(b.Level)}
	case o == nil:
		return &banChange{level: int64(b.Level)}
	}
	return o
}

// report tells Redis what this node admitted without it. It stops at the first call that fails; the rest stays for the
// next time.
func (r *Redis) report() error {
	r.mu.Lock()
	owing := slices.Collect(maps.Keys(r.owing))
	r.mu.Unlock()
	for _, s := range owing {
		if err := r.reportOf(s); err != nil {
			return err
		}
	}
	return nil
}

func (r *Redis) reportOf(s *subject) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.ask(nil, modeReport)
	if q.reports() {
		s.mu.Unlock()
		a, err := r.call(&q)
		s.mu.Lock()
		if err != nil {
			return err
		}
		s.learn(nil, &q, &a)
	}
	if s.remote.local == s.remote.reported {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.owing, s)
	}
	return nil
}
