package usage

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// A Recorder counts the requests that this process answers, and holds the latest of them. Its methods may be called
// concurrently. What it holds is bounded, whatever the number of workspaces and of requests.
type Recorder struct {
	now    func() time.Time
	store  Store
	meters sync.Map     // each *meter by the id of its workspace, an int64
	events atomic.Int64 // the capacity of all rings together
	lost   atomic.Int64

	saving sync.RWMutex // held while Save moves counts from the meters into the store
}

// NewRecorder returns a recorder that has counted nothing yet. Run saves what it counts in store.
func NewRecorder(store Store, now func() time.Time) *Recorder {
	return &Recorder{now: now, store: store}
}

// Record counts a request of a workspace. It neither blocks nor touches the store.
func (r *Recorder) Record(workspace int64, e Event) {
	r.with(workspace, func(m *meter) { m.count(r, &e) })
}

// with calls f with the meter of a workspace, which is locked.
func (r *Recorder) with(workspace int64, f func(*meter)) {
	for !r.meterOf(workspace).withLock(f) {
	}
}

// find returns the meter of a workspace, or nil.
func (r *Recorder) find(workspace int64) *meter {
	m, _ := r.meters.Load(workspace)
	found, _ := m.(*meter)
	return found
}

// meterOf returns the meter of a workspace, a new one if there is none.
func (r *Recorder) meterOf(workspace int64) *meter {
	if m := r.find(workspace); m != nil {
		return m
	}
	m, _ := r.meters.LoadOrStore(workspace, &meter{workspace: workspace, last: r.now().Unix()})
	return m.(*meter)
}

// Latest returns the latest requests of a workspace that this process answered, the newest first: a few hundred each
// of successes, errors and refusals, so that none of these pushes out another.
func (r *Recorder) Latest(workspace int64) []Event {
	if m := r.find(workspace); m != nil {
		return m.latest()
	}
	return nil
}

// Lost returns how many requests were counted and then lost, because the store failed for hours.
func (r *Recorder) Lost() int64 { return r.lost.Load() }

// Series returns what a workspace did in each span of the interval from the one that holds from up to the one that holds to,
// which it includes, also those without requests. It is what all processes have saved and what this one has not saved yet.
func (r *Recorder) Series(ctx context.Context, workspace int64, interval Interval, from, to time.Time) ([]Row, error) {
	first, last := interval.start(from), interval.start(to)
	rows := make([]Row, 0, max(0, (last-first)/int64(interval)+1))
	for start := first; start <= last; start += int64(interval) {
		rows = append(rows, Row{Workspace: workspace, Interval: interval, Start: start})
	}
	add := func(start int64, c *Counts) {
		if i := (start - first) / int64(interval); start >= first && i < int64(len(rows)) {
			rows[i].Add(c)
		}
	}
	r.saving.RLock()
	defer r.saving.RUnlock()
	saved, err := r.store.Usage(ctx, workspace, interval, first, last+1)
	if err != nil {
		return nil, err
	}
	for i := range saved {
		add(saved[i].Start, &saved[i].Counts)
	}
	if m := r.find(workspace); m != nil {
		m.withLock(func(m *meter) {
			for minute, c := range m.pending {
				add(minute, c)
			}
		})
	}
	return rows, nil
}

// Total returns what all workspaces did in the spans of the interval from the one that holds from up to the one that holds
// to. It is what all processes have saved: some seconds late. It reads a row for each workspace and span.
func (r *Recorder) Total(ctx context.Context, interval Interval, from, to time.Time) ([]Row, error) {
	return r.store.UsageOfAll(ctx, interval, interval.start(from), to.Unix()+1)
}
