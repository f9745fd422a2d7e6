package usage

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// An Event is one request of the log.
type Event struct {
	At        time.Time
	Method    string
	Path      string // without the query; cut to a few hundred bytes
	Query     string // the same
	Operation string // the operationId, or "" if there was none
	Status    int
	Code      string // of the error, or ""
	Duration  time.Duration
	KeyID     string
	RequestID string

	Console    bool // it is a form of the console, not a request of the API; it is counted apart
	Deprecated bool // the operation is deprecated

	Refused string // why the limiter refused it: "minute", "day", "banned"; or ""
	Limit   int64  // the limit of the window, if it was refused
	Until   int64  // when it could be sent again, in Unix seconds, if it was refused
}

// The kinds of events. Each kind has a ring of its own, so that many events of one kind do
// not push out those of the others.
const (
	successes = iota // 2xx and 3xx
	failures         // 4xx but 429, and 5xx
	refusals         // 429
	ringKinds
)

// Limits of memory. An event has 200 bytes and up to 500 of text, so all together take less than 34 MB.
const (
	ringFirst = 16     // events that a ring has room for at first
	maxEvents = 48_000 // of all workspaces together
	maxText   = 200    // bytes of a path, and of a query
	maxID     = 64     // bytes of a request id: a client may choose a long one
)

// ringSize is how many events each ring of a workspace holds.
var ringSize = [ringKinds]int{successes: 200, failures: 300, refusals: 100}

func ringOf(status int) int {
	switch ClassOf(status) {
	case Limited:
		return refusals
	case ClientError, ServerError:
		return failures
	}
	return successes
}

// A ring holds the latest events of one kind.
type ring struct {
	events []Event // the oldest at next once it is full
	next   int
}

// log keeps the event in its ring.
func (m *meter) log(r *Recorder, e *Event) {
	if e.Query != "" {
		e.Path = strings.Clone(e.Path) // the path may share memory with the request line, and so keep a long query
	}
	e.Path, e.Query, e.RequestID = cut(e.Path, maxText), cut(e.Query, maxText), cut(e.RequestID, maxID)
	kind := ringOf(e.Status)
	m.rings[kind].add(r, e, ringSize[kind])
}

// cut returns at most n bytes of s. If it cuts s, it copies them, so that s can be freed.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(strings.Clone(s[:n]), "") + "…"
}

// add adds an event. Once the ring has most events or may not grow, it replaces the oldest.
func (g *ring) add(r *Recorder, e *Event, most int) {
	switch {
	case len(g.events) < cap(g.events):
		g.events = append(g.events, *e)
	case len(g.events) < most && r.grow(g, most):
		g.events = append(g.events, *e)
	case len(g.events) > 0:
		g.events[g.next] = *e
		g.next = (g.next + 1) % len(g.events)
	}
}

// grow doubles the capacity of a full ring, up to most, if the recorder allows that many more events. It reports false if not.
func (r *Recorder) grow(g *ring, most int) bool {
	size := min(max(ringFirst, 2*cap(g.events)), most)
	more := int64(size - cap(g.events))
	if r.events.Add(more) > maxEvents {
		r.events.Add(-more)
		return false
	}
	events := make([]Event, 0, size)
	events = append(append(events, g.events[g.next:]...), g.events[:g.next]...)
	g.events, g.next = events, 0
	return true
}

// latest returns the events of all rings, the newest first; those of one instant by their request ids.
func (m *meter) latest() []Event {
	var events []Event
	m.mu.Lock()
	for i := range m.rings {
		g := &m.rings[i]
		events = append(append(events, g.events[g.next:]...), g.events[:g.next]...)
	}
	m.mu.Unlock()
	slices.Reverse(events)
	slices.SortStableFunc(events, func(a, b Event) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(b.RequestID, a.RequestID)) })
	return events
}
