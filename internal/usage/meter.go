package usage

import "sync"

const maxPending = 180 // minutes of a workspace that wait for the store

// A meter counts one workspace.
type meter struct {
	mu      sync.Mutex
	gone    bool // no longer in the recorder: look for another
	last    int64
	minute  int64 // of now
	now     Counts
	pending map[int64]*Counts // by minute, without the one of now; nil if there are none

	keys     map[keyDay]*KeyDay // what waits; nil if nothing does
	rings    [rings]ring
	watchers []chan Event
}

// do calls f with the meter locked. It reports false, and calls nothing, if the meter is gone.
func (m *meter) do(f func(*meter)) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.gone {
		f(m)
	}
	return !m.gone
}

// count adds a request to the meter, which is locked.
func (m *meter) count(r *Recorder, e *Event) {
	m.last = max(m.last, e.At.Unix())
	if minute := Minute.start(e.At); minute != m.minute {
		m.turn(minute, r)
	}
	m.now.Requests[ClassOf(e.Status)]++
	m.now.Latency[bucketOf(e.Duration)]++
	m.countKey(e)
	m.log(r, e)
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
