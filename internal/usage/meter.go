package usage

import (
	"strings"
	"sync"
	"time"
)

// An Event is one request of the log.
type Event struct {
	At        time.Time
	Method    string
	Path      string // without the query; cut to a few hundred bytes
	Operation string // the operationId, or "" if there was none
	Status    int
	Code      string // of the error, or ""
	Duration  time.Duration
	KeyID     string
	RequestID string
}

// Sizes of what is held in memory.
const (
	ringSize    = 300    // events of a workspace
	ringFirst   = 16     // events that a ring has room for at first
	maxEvents   = 60_000 // events of all workspaces together
	maxPending  = 180    // minutes of a workspace that wait for the store
	maxPath     = 200    // bytes
	maxID       = 64     // bytes of a request id: a client may choose a long one
	maxWatchers = 32     // of a workspace
	watchBuffer = 64     // events that a watcher may lag behind
)

// A meter counts one workspace.
type meter struct {
	mu      sync.Mutex
	gone    bool // no longer in the recorder: look for another
	last    int64
	minute  int64 // of now
	now     Counts
	pending map[int64]*Counts // by minute, without the one of now; nil if there are none

	ring     []Event // oldest at next once it is full
	next     int
	watchers []chan Event
}

// count adds a request. It reports false if the meter is gone.
func (m *meter) count(r *Recorder, e *Event) bool {
	second := e.At.Unix()
	minute := second - second%int64(Minute)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.gone {
		return false
	}
	m.last = max(m.last, second)
	if minute != m.minute {
		m.turn(minute, r)
	}
	m.now.Requests[ClassOf(e.Status)]++
	m.now.Latency[bucketOf(e.Duration)]++
	m.log(r, e)
	return true
}

// turn puts the counts of now aside and begins another minute.
func (m *meter) turn(minute int64, r *Recorder) {
	m.putAside(m.minute, &m.now, r)
	m.minute, m.now = minute, Counts{}
}

// putAside adds counts to those that wait. When too many minutes wait, because the store takes none, the oldest is lost.
func (m *meter) putAside(minute int64, c *Counts, r *Recorder) {
	if c.Total() == 0 {
		return
	}
	if m.pending == nil {
		m.pending = map[int64]*Counts{}
	}
	if p := m.pending[minute]; p != nil {
		p.Add(c)
		return
	}
	kept := *c
	m.pending[minute] = &kept
	if len(m.pending) > maxPending {
		oldest := minute
		for other := range m.pending {
			oldest = min(oldest, other)
		}
		r.lost.Add(m.pending[oldest].Total())
		delete(m.pending, oldest)
	}
}

// log keeps the event in the ring and hands it to those who watch.
func (m *meter) log(r *Recorder, e *Event) {
	e.Path, e.RequestID = cut(e.Path, maxPath), cut(e.RequestID, maxID)
	switch {
	case len(m.ring) < cap(m.ring):
		m.ring = append(m.ring, *e)
	case len(m.ring) < ringSize && r.grow(m):
		m.ring = append(m.ring, *e)
	case len(m.ring) > 0:
		m.ring[m.next] = *e
		m.next = (m.next + 1) % len(m.ring)
	}
	for _, w := range m.watchers {
		select {
		case w <- *e:
		default: // it lags behind, and misses this one
		}
	}
}

// cut returns at most n bytes of s, as a copy where it is cut, so that what it was cut from can be freed.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(strings.Clone(s[:n]), "") + "…"
}

// grow gives the ring of m more room if the recorder has some left. The ring must be full and, if it was ever turned,
// stays in order.
func (r *Recorder) grow(m *meter) bool {
	size := min(max(ringFirst, 2*cap(m.ring)), ringSize)
	more := int64(size - cap(m.ring))
	if r.events.Add(more) > maxEvents {
		r.events.Add(-more)
		return false
	}
	ring := make([]Event, 0, size)
	ring = append(append(ring, m.ring[m.next:]...), m.ring[:m.next]...)
	m.ring, m.next = ring, 0
	return true
}

// latest returns the events, the newest first.
func (m *meter) latest() []Event {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := len(m.ring)
	events := make([]Event, n)
	for i := range n {
		events[n-1-i] = m.ring[(m.next+i)%n]
	}
	return events
}

// take returns the counts that wait, those of now included, and forgets them.
func (m *meter) take(r *Recorder) map[int64]*Counts {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.turn(m.minute, r)
	taken := m.pending
	m.pending = nil
	return taken
}

// waiting returns what take would, without forgetting it.
func (m *meter) waiting() map[int64]Counts {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := map[int64]Counts{}
	for minute, c := range m.pending {
		all[minute] = *c
	}
	if m.now.Total() > 0 {
		c := all[m.minute]
		c.Add(&m.now)
		all[m.minute] = c
	}
	return all
}
