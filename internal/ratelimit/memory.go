package ratelimit

import (
	"cmp"
	"context"
	"maps"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// Memory is the Limiter of one process. Its counts are kept over a restart by Keep and Restore.
//
// Each workspace has one mutex, under which its windows and the penalties of its keys are decided in one step. It holds
// 64 bytes for each workspace and about 200 for each key, and does not forget a workspace before the process ends.
type Memory struct {
	now         func() time.Time
	rules       rules
	addresses   *addressTable
	changed     atomic.Pointer[Caller] // the callers to save, linked by next
	failedSaves atomic.Int64

	mu         sync.RWMutex // taken before a workspace's
	workspaces map[int64]*workspace
	callers    map[string]*Caller
	bans       map[string]Ban     // of keys without a handle
	gone       map[string]*Caller // keys dropped, until what they did is saved
}

var _ Limiter = (*Memory)(nil)

// workspace is one cache line.
type workspace struct {
	mu      sync.Mutex
	last    int64 // the clock at the last decision
	limits  Limits
	windows windows
}

// A Caller is the handle of one API key of one workspace. It belongs to the limiter that made it.
//
// It is one cache line, with what each request touches; the rest is behind key. All but the two pointers is guarded by
// the workspace's mutex.
type Caller struct {
	ws   *workspace
	key  *keyState
	next *Caller // in Memory.changed

	day, admitted, refused int64
	lastUsed               int64
	changed                bool // in Memory.changed, or about to be
	penalised              bool // the penalty is not clear
}

type keyState struct {
	id        string
	workspace int64
	replaced  bool // by a handle with the same id: not to be saved any more
	penalty   penalty

	shared   *shared // of the Redis limiter: the workspace there; nil in a Memory
	answered int64   // and the last question of this key whose answer was taken over
}

// NewMemory returns a limiter that has counted nothing yet. It panics if cfg is not valid. The clock may be set back or
// forward, and is read once a decision.
func NewMemory(cfg Config, now func() time.Time) *Memory {
	if err := cfg.Validate(); err != nil {
		panic("ratelimit: " + err.Error())
	}
	return &Memory{
		now:        now,
		rules:      newRules(cfg),
		addresses:  newAddressTable(cfg.AddressLimits, cfg.Addresses),
		workspaces: map[int64]*workspace{},
		callers:    map[string]*Caller{},
		bans:       map[string]Ban{},
		gone:       map[string]*Caller{},
	}
}

// Caller implements Limiter. A key that comes back with another workspace is a new key.
func (m *Memory) Caller(workspaceID int64, keyID string, limits Limits) *Caller {
	m.mu.RLock()
	c := m.callers[keyID]
	m.mu.RUnlock()
	if c == nil || c.key.workspace != workspaceID {
		m.mu.Lock()
		c = m.enrol(workspaceID, keyID)
		m.mu.Unlock()
	}
	c.ws.mu.Lock()
	c.ws.limits = limits
	c.ws.mu.Unlock()
	return c
}

// enrol returns the handle of a key, a new one if there is none. The caller holds mu.
func (m *Memory) enrol(workspaceID int64, keyID string) *Caller {
	c := cmp.Or(m.callers[keyID], m.gone[keyID])
	if c != nil && c.key.workspace != workspaceID {
		c.replace()
		c = nil
	}
	if c == nil {
		c = &Caller{ws: m.workspace(workspaceID), key: &keyState{id: keyID, workspace: workspaceID}}
	}
	delete(m.gone, keyID)
	m.callers[keyID] = c
	if b, ok := m.bans[keyID]; ok {
		delete(m.bans, keyID)
		m.setBan(c, &b)
	}
	return c
}

// workspace returns a workspace, a new one if there is none. The caller holds mu.
func (m *Memory) workspace(id int64) *workspace {
	ws := m.workspaces[id]
	if ws == nil {
		ws = &workspace{}
		m.workspaces[id] = ws
	}
	return ws
}

// Admit implements Limiter.
func (m *Memory) Admit(_ context.Context, c *Caller) (d Decision) {
	now := m.now().UnixNano()
	ws := c.ws
	ws.mu.Lock()
	m.decide(c, m.inOrder(now, &ws.last), &d)
	ws.mu.Unlock()
	return d
}

// inOrder returns the instant of a decision whose turn has come, given the clock as it was read before waiting for the
// turn. If another decision has overtaken it the clock is read again, so that time goes back only if the clock did.
func (m *Memory) inOrder(now int64, last *int64) int64 {
	if now < *last {
		now = m.again()
	}
	*last = now
	return now
}

func (m *Memory) again() int64 { return m.now().UnixNano() }

// decide writes the decision where the caller of the limiter gets it, since copying it twice takes a good part of the time of deciding.
func (m *Memory) decide(c *Caller, now int64, d *Decision) {
	ws := c.ws
	if c.penalised {
		if until, yes := c.key.penalty.banned(now); yes {
			ws.windows = ws.windows.at(now)
			m.count(c, Banned, now)
			*d = ws.banned(until, now)
			return
		}
	}
	var o Outcome
	ws.windows, o = ws.windows.admit(ws.limits, now)
	m.count(c, o, now)
	if o != Admitted {
		*d = m.refuse(c, o, now)
		return
	}
	if c.penalised {
		c.key.penalty.endRun()
		c.penalised = false
	}
	ws.windows.describe(d, ws.limits)
}

// refuse answers a request that a window refused, and bans the key if it is one too many.
func (m *Memory) refuse(c *Caller, o Outcome, now int64) Decision {
	ws, p := c.ws, &c.key.penalty
	c.penalised = true
	if !p.refuse(&m.rules, now, ws.windows.end(o, now)) {
		return ws.windows.decision(o, ws.limits, now)
	}
	d := ws.banned(p.banUntil, now)
	d.NewBan = p.describe(&m.rules, c.key.id)
	return d
}

// banned describes a refusal by a ban that runs until the given instant.
func (ws *workspace) banned(until, now int64) Decision {
	d := ws.windows.decision(Admitted, ws.limits, now)
	d.Outcome = Banned
	d.BannedUntil = ceilSeconds(until)
	_, o := ws.windows.admit(ws.limits, now)
	d.RetryAfter = max(1, ceilSeconds(max(until, ws.windows.end(o, now))-now))
	return d
}

// count notes the request in the key's usage, and the caller among those to save.
func (m *Memory) count(c *Caller, o Outcome, now int64) {
	if today := c.ws.windows.day; c.day != today {
		if c.day < today {
			c.admitted, c.refused = 0, 0
		}
		c.day = today
	}
	if o == Admitted {
		c.admitted++
	} else {
		c.refused++
	}
	c.lastUsed = now
	if !c.changed {
		m.change(c)
	}
}

// Peek implements Limiter.
func (m *Memory) Peek(_ context.Context, c *Caller) Decision {
	now := m.now().UnixNano()
	ws := c.ws
	ws.mu.Lock()
	defer ws.mu.Unlock()
	now = m.inOrder(now, &ws.last)
	as := workspace{limits: ws.limits, windows: ws.windows.at(now)}
	if _, until := c.key.penalty.banAt(now); until != 0 {
		return as.banned(until, now)
	}
	return as.windows.decision(Admitted, as.limits, now)
}

// AdmitAddress implements Limiter. An address beyond the table's size, while every place in it is taken by an address
// whose minute or day still counts, shares one pair of windows with all others like it. So does an invalid address.
func (m *Memory) AdmitAddress(_ context.Context, a netip.Addr) Decision {
	t, now := m.addresses, m.now().UnixNano()
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.admit(a, m.inOrder(now, &t.last))
}

// PeekAddress implements Limiter.
func (m *Memory) PeekAddress(_ context.Context, a netip.Addr) Decision {
	t, now := m.addresses, m.now().UnixNano()
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.peek(a, m.inOrder(now, &t.last))
}

// SetBan implements Limiter.
func (m *Memory) SetBan(keyID string, b *Ban) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.callers[keyID]
	switch {
	case c != nil:
		m.setBan(c, b)
	case b != nil:
		m.bans[keyID] = *b
	default:
		delete(m.bans, keyID)
	}
}

func (m *Memory) setBan(c *Caller, b *Ban) {
	c.ws.mu.Lock()
	defer c.ws.mu.Unlock()
	p := &c.key.penalty
	if b != nil {
		p.set(b, m.now().UnixNano())
	} else {
		p.lift(m.now().UnixNano())
	}
	c.penalised = !p.clear()
	m.change(c)
}

// Drop implements Limiter. A handle that is still in use goes on counting in its workspace. What the key did since it
// was saved last is in the rows of the next Dirty.
func (m *Memory) Drop(keyID string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c := m.callers[keyID]; c != nil {
		m.gone[keyID] = c
		delete(m.callers, keyID)
	}
	delete(m.bans, keyID)
}

// forget lets go of the dropped keys of which nothing is to be saved.
func (m *Memory) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.gone, func(_ string, c *Caller) bool { return c.isSaved() })
}

func (c *Caller) isSaved() bool {
	c.ws.mu.Lock()
	defer c.ws.mu.Unlock()
	return !c.changed
}

func (c *Caller) replace() {
	c.ws.mu.Lock()
	defer c.ws.mu.Unlock()
	c.key.replaced = true
}

// Usage implements Limiter.
func (m *Memory) Usage(c *Caller) Usage {
	today := dayOf(m.now().UnixNano())
	c.ws.mu.Lock()
	defer c.ws.mu.Unlock()
	var u Usage
	if c.day >= today {
		u.Admitted, u.Refused = c.admitted, c.refused
	}
	if c.lastUsed != 0 {
		u.LastUsed = time.Unix(0, c.lastUsed).UTC()
	}
	return u
}

// Stats are figures of a Memory for metrics.
type Stats struct {
	Workspaces, Keys int
	Bans             int   // bans that run
	Addresses        int   // places taken in the table of addresses
	AddressCapacity  int   // places in it
	OverflowAdmitted int64 // requests admitted today from addresses for which it had no place
	FailedSaves      int64 // saves by Keep that failed
}

// Stats returns the figures as they are now. It looks at every key: for once in some seconds.
func (m *Memory) Stats() Stats {
	now := m.now().UnixNano()
	s := Stats{FailedSaves: m.failedSaves.Load()}
	s.Addresses, s.AddressCapacity, s.OverflowAdmitted = m.addresses.occupancy(now)
	m.mu.RLock()
	defer m.mu.RUnlock()
	s.Workspaces, s.Keys = len(m.workspaces), len(m.callers)
	for _, c := range m.callers {
		if c.isBanned(now) {
			s.Bans++
		}
	}
	for _, b := range m.bans {
		if b.Until.UnixNano() > now {
			s.Bans++
		}
	}
	return s
}

func (c *Caller) isBanned(now int64) bool {
	c.ws.mu.Lock()
	defer c.ws.mu.Unlock()
	_, until := c.key.penalty.banAt(now)
	return until != 0
}
