package ratelimit

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
	if c.penalty.banAt(a.now) == 0 || a.penalty.banUntil != 0 { // or else a ban of the store runs
		c.override = nil
		a.penalty.operator = c.penalty.operator
		c.penalty = a.penalty
	}
}
