package ratelimit

import (
	"context"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// Memory is the Limiter of one process. Keep and Restore keep its counts over a restart.
//
// Each subject has one mutex, under which a request is decided in one step. A workspace stays in memory until the process
// ends.
type Memory struct {
	now         func() time.Time
	cfg         Config
	addresses   *addressTable
	changed     changes
	failedSaves atomic.Int64

	// A Redis limiter replaces these two. decide decides on a request of a key, or of an address if c is nil; the
	// subject's mutex is held, and unlocked at the end. refresh brings the counts of other nodes.
	decide  func(s *subject, c *Caller) Decision
	refresh func(s *subject)

	mu         sync.RWMutex // taken before a subject's
	workspaces map[int64]*subject
	callers    map[string]*Caller
}

var _ Limiter = (*Memory)(nil)

// NewMemory returns a limiter that has counted nothing yet. The clock may be set back or forward, and is read once a
// decision.
func NewMemory(cfg Config, now func() time.Time) *Memory {
	m := &Memory{
		now:        now,
		cfg:        cfg,
		addresses:  newAddressTable(cfg.AddressLimits, cfg.Addresses),
		refresh:    func(*subject) {},
		workspaces: map[int64]*subject{},
		callers:    map[string]*Caller{},
	}
	m.decide = func(s *subject, c *Caller) Decision {
		defer s.mu.Unlock()
		return m.decideAlone(s, c)
	}
	return m
}

// Caller implements Limiter. A key that comes back with another workspace is a new key.
func (m *Memory) Caller(workspaceID int64, keyID string, limits Limits) *Caller {
	m.mu.Lock()
	c := m.caller(workspaceID, keyID)
	m.mu.Unlock()
	c.subject.mu.Lock()
	defer c.subject.mu.Unlock()
	c.subject.limits = limits
	return c
}

// caller returns the handle of a key, a new one if there is none. The caller holds mu.
func (m *Memory) caller(workspaceID int64, keyID string) *Caller {
	c := m.callers[keyID]
	if c == nil || c.subject.workspace != workspaceID {
		c = &Caller{id: keyID, subject: m.workspace(workspaceID)}
		m.callers[keyID] = c
	}
	return c
}

// workspace returns the subject of a workspace, a new one if there is none. The caller holds mu.
func (m *Memory) workspace(id int64) *subject {
	s := m.workspaces[id]
	if s == nil {
		s = newWorkspace(id)
		m.workspaces[id] = s
	}
	return s
}

// Admit implements Limiter.
func (m *Memory) Admit(_ context.Context, c *Caller) Decision {
	c.subject.mu.Lock()
	return m.decide(c.subject, c)
}

// AdmitAddress implements Limiter. An address beyond the table's size, while every place in it is taken by an address
// whose minute or day still counts, shares one pair of windows with all others like it. So does an invalid address.
func (m *Memory) AdmitAddress(_ context.Context, a netip.Addr) Decision {
	return m.decide(m.addresses.lock(a, m.now().UnixNano()), nil)
}

// decideAlone decides from what this node knows. The subject's mutex is held, and the clock is read under it, so that
// time goes back only if the clock does.
func (m *Memory) decideAlone(s *subject, c *Caller) Decision {
	now, o := m.now().UnixNano(), Banned
	s.windows = s.windows.current(now)
	if c.bannedUntil(now) == 0 {
		s.windows, o = s.windows.admit(s.limits)
	}
	return m.record(s, c, s.windows, o, now)
}

// record notes the outcome of a request of a key, or of an address if c is nil, and describes it. The windows are those
// after the request. Refusals count against the key, so the outcome for the client may be a ban. The subject's mutex is
// held.
func (m *Memory) record(s *subject, c *Caller, w windows, o Outcome, now int64) Decision {
	m.changed.add(s, c)
	if c == nil {
		return newDecision(w, o, 0, s.limits, now)
	}
	o, begins := c.penalty.note(&m.cfg, o, now, w.reset(o))
	d := newDecision(w, o, c.penalty.banUntil, s.limits, now)
	if begins {
		d.NewBan = c.penalty.newBan(&m.cfg, c.id)
	}
	return d
}

// Peek implements Limiter.
func (m *Memory) Peek(_ context.Context, c *Caller) Decision {
	s := c.subject
	m.refresh(s)
	s.mu.Lock()
	defer s.mu.Unlock()
	now := m.now().UnixNano()
	w := s.windows.current(now)
	if until := c.bannedUntil(now); until != 0 {
		return newDecision(w, Banned, until, s.limits, now)
	}
	d := w.describe(s.limits)
	d.StrikesLeft = c.penalty.strikesLeft(&m.cfg, now)
	return d
}

// PeekWorkspace implements Limiter.
func (m *Memory) PeekWorkspace(_ context.Context, id int64, limits Limits) Decision {
	m.mu.RLock()
	s := m.workspaces[id]
	m.mu.RUnlock()
	if s == nil {
		s = newWorkspace(id) // which is not kept
	}
	m.refresh(s)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.windows.current(m.now().UnixNano()).describe(limits)
}

// PeekAddress implements Limiter.
func (m *Memory) PeekAddress(_ context.Context, a netip.Addr) Decision {
	s := m.addresses.subject(a, m.now().UnixNano(), false)
	m.refresh(s)
	s.mu.Lock()
	defer s.mu.Unlock()
	now := m.now().UnixNano()
	w := s.windows.current(now)
	_, o := w.admit(s.limits)
	return newDecision(w, o, 0, s.limits, now)
}

// SetBan implements Limiter.
func (m *Memory) SetBan(keyID string, b *Ban) {
	m.mu.RLock()
	c := m.callers[keyID]
	m.mu.RUnlock()
	if c == nil {
		return
	}
	now := m.now().UnixNano()
	c.subject.mu.Lock()
	defer c.subject.mu.Unlock()
	if b != nil {
		c.penalty.set(b, now)
	} else {
		c.penalty.lift(now)
	}
	m.changed.add(c.subject, c)
}

// Drop implements Limiter. A handle that is still in use goes on counting in its workspace, and what it does is saved.
func (m *Memory) Drop(keyID string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.callers, keyID)
}
