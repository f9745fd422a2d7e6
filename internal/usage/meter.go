package usage

import (
	"maps"
	"slices"
	"sync"
	"time"
)

const maxPending = 180 // minutes of a workspace that are not saved yet

// A meter counts the requests of one workspace.
type meter struct {
	workspace int64

	mu      sync.Mutex
	gone    bool               // it was removed from the recorder: use another one
	last    int64              // Unix seconds of the latest request
	pending map[int64]*Counts  // what is not saved yet, by minute; may be nil
	keys    map[keyDay]*KeyDay // the same by key and day

	rings [ringKinds]ring
}

// withLock calls f with the meter locked. It reports false, and calls nothing, if the meter is gone.
func (m *meter) withLock(f func(*meter)) bool {
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
	if !e.Console {
		var c Counts
		c.Requests[ClassOf(e.Status)]++
		c.Latency[bucketOf(e.Duration)]++
		m.add(Minute.start(e.At), &c, r)
	}
	m.countKey(e)
	m.log(r, e)
}

// add adds counts to those of a minute. If saving fails for so long that there are too many minutes, the oldest is lost.
func (m *meter) add(minute int64, c *Counts, r *Recorder) {
	if p := m.pending[minute]; p != nil {
		p.Add(c)
		return
	}
	if m.pending == nil {
		m.pending = map[int64]*Counts{}
	}
	kept := *c
	m.pending[minute] = &kept
	if len(m.pending) > maxPending {
		oldest := slices.Min(slices.Collect(maps.Keys(m.pending)))
		r.lost.Add(m.pending[oldest].Total())
		delete(m.pending, oldest)
	}
}

// collect appends what is not saved yet to rows and days, and removes it from the meter. It removes an idle meter from the recorder.
func (m *meter) collect(r *Recorder, rows []Row, days []KeyDay) ([]Row, []KeyDay) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for minute, c := range m.pending {
		rows = append(rows, Row{Workspace: m.workspace, Interval: Minute, Start: minute, Counts: *c})
	}
	for _, k := range m.keys {
		k.Workspace = m.workspace
		days = append(days, *k)
	}
	m.pending, m.keys = nil, nil
	if r.now().Unix()-m.last >= int64(idleFor/time.Second) {
		m.removeFrom(r)
	}
	return rows, days
}

// removeFrom removes the meter, which is locked, from the recorder.
func (m *meter) removeFrom(r *Recorder) {
	m.gone = true
	for i := range m.rings {
		r.events.Add(-int64(cap(m.rings[i].events)))
	}
	r.meters.Delete(m.workspace)
}
