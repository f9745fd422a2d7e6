package usage

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// A Recorder counts the requests that this process answers, and holds the latest of them. Its methods may be called
// concurrently. What it holds is bounded, whatever the number of workspaces and of requests.
type Recorder struct {
	Store // what all processes have saved, some seconds late
	now   func() time.Time

	mu     sync.Mutex
	rows   map[span]*Row         // that are not saved yet
	logs   map[int64]*requestLog // by workspace
	logged int                   // events of all logs together
}

// A span is what a row is about.
type span struct {
	workspace int64
	interval  Interval
	key       string
	start     int64
}

// maxUnsaved is how many rows are held until they can be saved.
const maxUnsaved = 50_000

// NewRecorder returns a recorder that has counted nothing yet. Save saves what it counts in store.
func NewRecorder(store Store, now func() time.Time) *Recorder {
	return &Recorder{Store: store, now: now, rows: map[span]*Row{}, logs: map[int64]*requestLog{}}
}

// Record counts a request of a workspace. It does not touch the store.
func (r *Recorder) Record(workspace int64, e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !e.Console {
		row := Row{Workspace: workspace}
		row.Requests[ClassOf(e.Status)]++
		row.Latency[bucketOf(e.Duration)]++
		for _, row.Interval = range []Interval{Minute, Hour} {
			row.Start = row.Interval.Start(e.At)
			r.add(&row)
		}
	}
	r.countKey(workspace, &e)
	r.log(workspace, e)
}

// countKey adds a request to the day of its key. A form of the console is counted for Forms, and only updates LastUsed of
// its key. The recorder is locked.
func (r *Recorder) countKey(workspace int64, e *Event) {
	if e.KeyID == "" {
		return
	}
	row := Row{Workspace: workspace, Interval: Day, Key: e.KeyID, Start: Day.Start(e.At), LastUsed: e.At.UnixMilli()}
	if e.Console {
		r.add(&row)
		row.Key = Forms
	}
	row.Requests[ClassOf(e.Status)]++
	if e.Deprecated {
		row.Deprecated++
	}
	r.add(&row)
}

// add adds a row to those that are not saved. If saving fails for so long that there are too many, it is lost. The
// recorder is locked.
func (r *Recorder) add(row *Row) {
	at := span{row.Workspace, row.Interval, row.Key, row.Start}
	if held := r.rows[at]; held != nil {
		held.Add(&row.Counts)
		held.LastUsed = max(held.LastUsed, row.LastUsed)
	} else if len(r.rows) < maxUnsaved {
		r.rows[at] = new(*row)
	}
}

const maxRows = 100 // in one call of AddUsage; others wait for its transaction

// Save saves what was counted so far. What cannot be saved is saved by the next call. It removes the logs of workspaces without requests for a while.
func (r *Recorder) Save(ctx context.Context) (err error) {
	for some := range slices.Chunk(r.take(), maxRows) {
		if err == nil {
			err = r.AddUsage(ctx, some)
		}
		if err != nil { // the next call saves them
			r.mu.Lock()
			for i := range some {
				r.add(&some[i])
			}
			r.mu.Unlock()
		}
	}
	return err
}

// take returns what is not saved yet, which the recorder then holds no more.
func (r *Recorder) take() (rows []Row) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, row := range r.rows {
		rows = append(rows, *row)
	}
	r.rows = map[span]*Row{}
	r.removeIdleLogs()
	return rows
}

// Forget removes rows from the store that are older than KeepMinutes or KeepHours.
func (r *Recorder) Forget(ctx context.Context) (err error) {
	for interval, keep := range map[Interval]time.Duration{Minute: KeepMinutes, Hour: KeepHours, Day: KeepHours} {
		before := r.now().Add(-keep - time.Duration(interval)*time.Second).Unix()
		_, failed := r.ForgetUsage(ctx, interval, before)
		err = errors.Join(err, failed)
	}
	return err
}
