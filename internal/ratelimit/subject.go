package ratelimit

import (
	"strconv"
	"sync"
)

// A subject is what is counted: a workspace or an address.
type subject struct {
	name      string // in saved rows, and in Redis after keyPrefix
	workspace int64  // 0: an address

	mu      sync.Mutex
	limits  Limits
	windows windows // what was admitted; with a Redis limiter, what Redis is known to have counted
	changed bool    // since it was saved last
	removed bool    // from the table of addresses: to be looked up again

	remote *remote // of a Redis limiter alone
}

// A Caller is the handle of one API key of one workspace. It belongs to the limiter that made it. The subject's mutex
// guards what follows the subject.
type Caller struct {
	id      string
	subject *subject

	penalty  penalty
	usage    keyUsage
	changed  bool       // since it was saved last
	override *banChange // of a Redis limiter alone: a change of a ban that Redis does not know yet
}

// against returns what stands against a key, or nil for an address, which has no Caller.
func (c *Caller) against() *penalty {
	if c == nil {
		return nil
	}
	return &c.penalty
}

// keyUsage is what a key did on one day since it was saved last.
type keyUsage struct{ day, admitted, refused, lastUsed int64 }

func (u *keyUsage) count(today int64, o Outcome, now int64) {
	if u.day != today {
		*u = keyUsage{day: today}
	}
	if o == Admitted {
		u.admitted++
	} else {
		u.refused++
	}
	u.lastUsed = now
}

// add takes a row back that was not saved. What was counted on another day is forgotten.
func (u *keyUsage) add(r *SavedKey) {
	switch u.day {
	case 0:
		*u = keyUsage{r.Day, r.Admitted, r.Refused, fromMillis(r.LastUsed)}
	case r.Day:
		u.admitted, u.refused = u.admitted+r.Admitted, u.refused+r.Refused
	}
}

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

// changes are the subjects and keys that have changed since they were saved. A subject's mutex is taken before its own.
type changes struct {
	mu       sync.Mutex
	subjects []*subject
	keys     []*Caller
}

// subject notes a change of a subject, whose mutex is held.
func (c *changes) subject(s *subject) {
	if s.changed {
		return
	}
	s.changed = true
	c.mu.Lock()
	defer c.mu.Unlock()
	c.subjects = append(c.subjects, s)
}

// key notes a change of a key, whose subject's mutex is held.
func (c *changes) key(k *Caller) {
	if k.changed {
		return
	}
	k.changed = true
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keys = append(c.keys, k)
}

// take returns what has changed since it was last called.
func take[T any](c *changes, changed *[]T) []T {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := *changed
	*changed = nil
	return all
}

func workspaceName(id int64) string { return "w:" + strconv.FormatInt(id, 10) }
