package usage

import (
	"cmp"
	"maps"
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

// Limits of memory. An event has 200 bytes, its ring has room for as much again, and up to 500 bytes are text, so all
// together take less than 33 MB.
const (
	maxEvents = 36_000           // of all workspaces together
	maxText   = 200              // bytes of a path, and of a query
	maxID     = 64               // bytes of a request id: a client may choose a long one
	idleFor   = 30 * time.Minute // after which the log of a workspace without requests is removed
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

// A requestLog has the latest events of a workspace.
type requestLog struct {
	rings [ringKinds]ring
	last  time.Time // of the latest
}

// A ring holds the latest events of one kind.
type ring struct {
	events []Event // the oldest at next
	next   int
}

// log keeps an event of a workspace. The recorder is locked.
func (r *Recorder) log(workspace int64, e Event) {
	l := r.logs[workspace]
	if l == nil {
		l = new(requestLog)
		r.logs[workspace] = l
	}
	if l.last = e.At; e.Query != "" {
		e.Path = strings.Clone(e.Path) // the path may share memory with the request line, and so keep a long query
	}
	e.Path, e.Query, e.RequestID = cut(e.Path, maxText), cut(e.Query, maxText), cut(e.RequestID, maxID)
	kind := ringOf(e.Status)
	switch g := &l.rings[kind]; {
	case g.next == 0 && len(g.events) < ringSize[kind] && r.logged < maxEvents:
		g.events = append(g.events, e)
		r.logged++
	case len(g.events) > 0:
		g.events[g.next] = e
		g.next = (g.next + 1) % len(g.events)
	}
}

// cut returns at most n bytes of s. If it cuts s, it copies them, so that s can be freed.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(strings.Clone(s[:n]), "") + "…"
}

// removeIdleLogs removes the logs of workspaces without requests for a while. The recorder is locked.
func (r *Recorder) removeIdleLogs() {
	now := r.now()
	maps.DeleteFunc(r.logs, func(_ int64, l *requestLog) bool {
		if now.Sub(l.last) < idleFor {
			return false
		}
		for _, g := range l.rings {
			r.logged -= len(g.events)
		}
		return true
	})
}

// Latest returns the latest requests of a workspace that this process answered, the newest first, those of one instant by
// their request ids: a few hundred each of successes, errors and refusals, so that none of these pushes out another.
func (r *Recorder) Latest(workspace int64) []Event {
	var events []Event
	r.mu.Lock()
	if l := r.logs[workspace]; l != nil {
		for _, g := range l.rings {
			events = append(append(events, g.events[g.next:]...), g.events[:g.next]...)
		}
	}
	r.mu.Unlock()
	slices.Reverse(events)
	slices.SortStableFunc(events, func(a, b Event) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(b.RequestID, a.RequestID)) })
	return events
}
