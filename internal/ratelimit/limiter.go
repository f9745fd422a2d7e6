package ratelimit

import (
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// A Limiter decides on requests, in this process or, if it is that of a Redis, for all nodes. All methods may be called
// concurrently. Keep and Restore keep its counts over a restart.
//
// The keys of a workspace share its windows; a ban and its strikes belong to one key. Any number of simultaneous requests
// admits exactly what the limits say, and Remaining falls by exactly one with each: each subject has one mutex, under which
// a request is decided in one step. A workspace stays in memory until the process ends.
type Limiter struct {
	now         func() time.Time
	cfg         Config
	addresses   *addressTable
	changed     changes
	failedSaves atomic.Int64

	// A Redis limiter replaces these two. decide decides on a request of a key, or of an address if c is nil; the
	// subject's mutex is held, and unlocked at the end. refresh brings the counts of other nodes.
	decide  func(s *subject, c *Caller) Decision
	refresh func(s *subject)

	mu         sync.Mutex // is never held together with a subject's
	workspaces map[int64]*subject
}

// New returns a limiter that has counted nothing yet. The clock may be set back or forward, and is read once a
// decision.
func New(cfg Config, now func() time.Time) *Limiter {
	l := &Limiter{
		now:        now,
		cfg:        cfg,
		addresses:  newAddressTable(cfg.AddressLimits, cfg.Addresses),
		refresh:    func(*subject) {},
		workspaces: map[int64]*subject{},
	}
	l.decide = func(s *subject, c *Caller) Decision {
		defer s.mu.Unlock()
		return l.decideAlone(s, c)
	}
	return l
}

// Caller returns the handle of a key. The caller keeps it with the key's record, uses it for each request, and gives it as
// before when it has read the key again; before is nil for a key that is new here. The handle stays the same unless the key
// comes back with another workspace: then it is a new key. The limits replace those of the whole workspace at once; what was
// used stays counted.
//
// stored is the key's ban in the store, or nil. If it is another one than before, it replaces the ban that runs, at once.
// The operator's holds whenever the clock stands before its end, even if the clock was beyond it meanwhile. If there is none
// any more, the ban is lifted and the strikes are forgotten; the level stays.
func (l *Limiter) Caller(before *Caller, workspaceID int64, keyID string, limits Limits, stored *Ban) *Caller {
	c, now := before, l.now().UnixNano()
	if c == nil || c.subject.workspace != workspaceID {
		c = &Caller{id: keyID, subject: l.workspace(workspaceID)}
	}
	c.subject.mu.Lock()
	defer c.subject.mu.Unlock()
	c.subject.limits = limits
	switch {
	case stored != nil && (c.stored == nil || *c.stored != *stored):
		c.penalty.set(stored, now)
	case stored == nil && c.stored != nil:
		c.penalty.lift(now)
	}
	c.stored = stored
	return c
}

// workspace returns the subject of a workspace, a new one if there is none.
func (l *Limiter) workspace(id int64) *subject {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.workspaces[id]
	if s == nil {
		s = newWorkspace(id)
		l.workspaces[id] = s
	}
	return s
}

// Admit decides on one request. An admitted request counts in both windows; a refused one in neither.
func (l *Limiter) Admit(c *Caller) Decision {
	c.subject.mu.Lock()
	return l.decide(c.subject, c)
}

// AdmitAddress decides on one request without a valid key, counted by IPv4 address (an IPv4-mapped IPv6 address is one) or
// IPv6 /64 with Config.AddressLimits. Addresses are never banned. An address beyond the table's size, while every place in
// it is taken by an address whose minute or day still counts, shares one pair of windows with all others like it. So does
// an invalid address.
func (l *Limiter) AdmitAddress(a netip.Addr) Decision {
	s := l.addresses.subject(a, l.now().UnixNano(), true)
	s.mu.Lock()
	return l.decide(s, nil)
}

// decideAlone decides from what this node knows. The subject's mutex is held, and the clock is read under it, so that
// time goes back only if the clock does.
func (l *Limiter) decideAlone(s *subject, c *Caller) Decision {
	now, o := l.now().UnixNano(), Banned
	s.windows = s.windows.current(now)
	if c.bannedUntil(now) == 0 {
		s.windows, o = s.windows.admit(s.limits)
	}
	return l.record(s, c, s.windows, o, now)
}

// record notes the outcome of a request of a key, or of an address if c is nil, and describes it. The windows are those
// after the request. Refusals count against the key, so the outcome for the client may be a ban. The subject's mutex is
// held.
func (l *Limiter) record(s *subject, c *Caller, w windows, o Outcome, now int64) Decision {
	l.changed.add(s)
	if c == nil {
		return newDecision(w, o, 0, s.limits, now)
	}
	o, begins := c.penalty.note(&l.cfg, o, now, w.reset(o))
	d := newDecision(w, o, c.penalty.banUntil, s.limits, now)
	if begins {
		d.NewBan = c.penalty.newBan(&l.cfg, c.id)
	}
	return d
}

// Peek returns the caller's windows without counting anything, for responses that spend no quota. The outcome is Banned
// while a ban runs, and Admitted otherwise, even if a window is full.
func (l *Limiter) Peek(c *Caller) Decision {
	s := c.subject
	l.refresh(s)
	s.mu.Lock()
	defer s.mu.Unlock()
	now := l.now().UnixNano()
	w := s.windows.current(now)
	if until := c.bannedUntil(now); until != 0 {
		return newDecision(w, Banned, until, s.limits, now)
	}
	d := w.describe(s.limits)
	d.StrikesLeft = c.penalty.strikesLeft(&l.cfg, now)
	return d
}

// PeekWorkspace returns the windows of a workspace with the given limits, without counting anything. The workspace need
// not have a key: what deleted keys used stays counted. The outcome is Admitted.
func (l *Limiter) PeekWorkspace(id int64, limits Limits) Decision {
	l.mu.Lock()
	s := l.workspaces[id]
	l.mu.Unlock()
	if s == nil {
		s = newWorkspace(id) // which is not kept
	}
	return l.peek(s, limits)
}

// PeekAddress returns the windows of an address, without counting anything. The outcome is Admitted.
func (l *Limiter) PeekAddress(a netip.Addr) Decision {
	return l.peek(l.addresses.subject(a, l.now().UnixNano(), false), l.cfg.AddressLimits)
}

func (l *Limiter) peek(s *subject, limits Limits) Decision {
	l.refresh(s)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.windows.current(l.now().UnixNano()).describe(limits)
}
