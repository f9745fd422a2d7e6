package usage

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// A Recorder counts the requests that this process answers, and holds the latest of them. Its methods may be called
// concurrently. What it holds is bounded, whatever the number of workspaces and of requests.
type Recorder struct {
	now   func() time.Time
	store Store

	mu     sync.Mutex
	rows   map[span]*Row      // of minutes, that are not saved yet
	days   map[keyDay]*KeyDay // the same of keys
	lost   int64
	logs   map[int64]*requestLog // by workspace
	logged int                   // events of all logs together

	saving sync.RWMutex // held while Save moves what was counted into the store
}

type span struct{ workspace, start int64 }

type keyDay struct {
	workspace int64
	id        string
	day       int64
}

// maxUnsaved is how many rows, and how many days of keys, are held until they can be saved.
const maxUnsaved = 50_000

// NewRecorder returns a recorder that has counted nothing yet. Save saves what it counts in store.
func NewRecorder(store Store, now func() time.Time) *Recorder {
	return &Recorder{now: now, store: store, rows: map[span]*Row{}, days: map[keyDay]*KeyDay{}, logs: map[int64]*requestLog{}}
}

// Record counts a request of a workspace. It does not touch the store.
func (r *Recorder) Record(workspace int64, e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !e.Console {
		row := Row{Workspace: workspace, Interval: Minute, Start: Minute.start(e.At)}
		row.Requests[ClassOf(e.Status)]++
		row.Latency[bucketOf(e.Duration)]++
		r.addRow(&row)
	}
	r.countKey(workspace, &e)
	r.log(workspace, e)
}

// addRow adds a row to those that are not saved. If saving fails for so long that there are too many, it is lost. The
// recorder is locked.
func (r *Recorder) addRow(row *Row) {
	at := span{row.Workspace, row.Start}
	switch held := r.rows[at]; {
	case held != nil:
		held.Add(&row.Counts)
	case len(r.rows) < maxUnsaved:
		r.rows[at] = new(*row)
	default:
		r.lost += row.Total()
	}
}

// countKey adds a request to the day of its key. A form of the console is counted for Forms, and only updates LastUsed of
// its key. The recorder is locked.
func (r *Recorder) countKey(workspace int64, e *Event) {
	if e.KeyID == "" {
		return
	}
	k := KeyDay{Workspace: workspace, KeyID: e.KeyID, Day: Day.start(e.At), LastUsed: e.At.UnixMilli()}
	if e.Console {
		r.addKey(&k)
		k.KeyID = Forms
	}
	k.Requests[ClassOf(e.Status)]++
	if e.Deprecated {
		k.Deprecated++
	}
	r.addKey(&k)
}

// addKey is addRow for a day of a key.
func (r *Recorder) addKey(k *KeyDay) {
	at := keyDay{k.Workspace, k.KeyID, k.Day}
	if held := r.days[at]; held != nil {
		held.Add(k)
	} else if len(r.days) < maxUnsaved {
		r.days[at] = new(*k)
	}
}

// Lost returns how many requests were counted and then lost, because the store failed for long.
func (r *Recorder) Lost() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lost
}

// Series returns what a workspace did in each span of the interval from the one that holds from up to the one that holds to,
// which it includes, also those without requests. It is what all processes have saved and what this one has not saved yet.
func (r *Recorder) Series(ctx context.Context, workspace int64, interval Interval, from, to time.Time) ([]Row, error) {
	first, last := interval.start(from), interval.start(to)
	rows := make([]Row, 0, max(0, (last-first)/int64(interval)+1))
	for start := first; start <= last; start += int64(interval) {
		rows = append(rows, Row{Workspace: workspace, Interval: interval, Start: start})
	}
	add := func(row *Row) {
		if i := (row.Start - first) / int64(interval); row.Start >= first && i < int64(len(rows)) {
			rows[i].Add(&row.Counts)
		}
	}
	r.saving.RLock()
	defer r.saving.RUnlock()
	saved, err := r.store.Usage(ctx, workspace, interval, first, last+1)
	if err != nil {
		return nil, err
	}
	for i := range saved {
		add(&saved[i])
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for at, row := range r.rows {
		if at.workspace == workspace {
			add(row)
		}
	}
	return rows, nil
}

// Total returns what all workspaces did in the spans of the interval from the one that holds from up to the one that holds
// to. It is what all processes have saved: some seconds late. It reads a row for each workspace and span.
func (r *Recorder) Total(ctx context.Context, interval Interval, from, to time.Time) ([]Row, error) {
	return r.store.UsageOfAll(ctx, interval, interval.start(from), to.Unix()+1)
}

// KeyDays returns what a key of a workspace did on each day from the one that holds from, or what all of them and the
// forms of the console did if keyID is "": by key and day, without days on which it did nothing. A day on which a key
// sent only forms has no requests. It is what all processes have saved and what this one has not saved yet.
func (r *Recorder) KeyDays(ctx context.Context, workspace int64, keyID string, from time.Time) ([]KeyDay, error) {
	first := Day.start(from)
	r.saving.RLock()
	defer r.saving.RUnlock()
	days, err := r.store.KeyDays(ctx, workspace, keyID, first)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for at, k := range r.days {
		if at.workspace != workspace || at.day < first || keyID != "" && at.id != keyID {
			continue
		}
		if i := slices.IndexFunc(days, func(d KeyDay) bool { return d.KeyID == at.id && d.Day == at.day }); i >= 0 {
			days[i].Add(k)
		} else {
			days = append(days, *k)
		}
	}
	slices.SortFunc(days, func(a, b KeyDay) int { return cmp.Or(cmp.Compare(a.KeyID, b.KeyID), cmp.Compare(a.Day, b.Day)) })
	return days, nil
}
