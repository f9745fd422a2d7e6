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
	windows windows // what was admitted, as far as this node knows
	changed bool    // since it was saved last
}

func newWorkspace(id int64) *subject {
	return &subject{name: "w:" + strconv.FormatInt(id, 10), workspace: id}
}

// A Caller is the handle of one API key of one workspace. It belongs to the limiter that made it. The subject's mutex
// guards what follows the subject. A nil Caller is that of an address.
type Caller struct {
	id      string
	subject *subject

	penalty penalty
	stored  *Ban // the key's ban as the store had it last, or nil
}

// bannedUntil returns the end of the ban that runs at now, or 0 if none runs.
func (c *Caller) bannedUntil(now int64) int64 {
	if c == nil {
		return 0
	}
	return c.penalty.bannedUntil(now)
}

// changes are the subjects that have changed since they were saved. A subject's mutex is taken before its own.
type changes struct {
	mu       sync.Mutex
	subjects []*subject
}

// add notes a change of a subject, whose mutex is held.
func (l *changes) add(s *subject) {
	if s.changed {
		return
	}
	s.changed = true
	l.mu.Lock()
	defer l.mu.Unlock()
	l.subjects = append(l.subjects, s)
}

// take empties the list and returns what was in it.
func (l *changes) take() []*subject {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.subjects
	l.subjects = nil
	return all
}
