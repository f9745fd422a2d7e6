package usage

import (
	"context"
	"errors"
	"slices"
	"time"
)

const maxRows = 50 // in one call of AddUsage; others wait for its transaction

// Save saves what was counted so far. What cannot be saved is saved by the next call. It removes the logs of workspaces without requests for a while.
func (r *Recorder) Save(ctx context.Context) error {
	r.saving.Lock()
	defer r.saving.Unlock()
	rows, days := r.take()
	return errors.Join(
		save(r, rows, func(some []Row) error { return r.store.AddUsage(ctx, withHours(some)) }, r.addRow),
		save(r, days, func(some []KeyDay) error { return r.store.AddKeyDays(ctx, some) }, r.addKey))
}

// take returns what is not saved yet, which the recorder then holds no more.
func (r *Recorder) take() (rows []Row, days []KeyDay) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, row := range r.rows {
		rows = append(rows, *row)
	}
	for _, k := range r.days {
		days = append(days, *k)
	}
	r.rows, r.days = map[span]*Row{}, map[keyDay]*KeyDay{}
	r.removeIdleLogs()
	return rows, days
}

// save adds rows to the store, a few at a time. If that fails, the recorder holds the others for the next time.
func save[T any](r *Recorder, rows []T, add func([]T) error, hold func(*T)) (err error) {
	for some := range slices.Chunk(rows, maxRows) {
		if err == nil {
			err = add(some)
		}
		if err != nil {
			r.mu.Lock()
			for i := range some {
				hold(&some[i])
			}
			r.mu.Unlock()
		}
	}
	return err
}

// withHours returns the rows of minutes, and those of their hours.
func withHours(minutes []Row) []Row {
	type span struct{ workspace, start int64 }
	rows, at := append(make([]Row, 0, 2*len(minutes)), minutes...), map[span]int{}
	for i := range minutes {
		m := &minutes[i]
		hour := span{m.Workspace, m.Start - m.Start%int64(Hour)}
		if j, ok := at[hour]; ok {
			rows[j].Add(&m.Counts)
			continue
		}
		at[hour] = len(rows)
		rows = append(rows, Row{Workspace: m.Workspace, Interval: Hour, Start: hour.start, Counts: m.Counts})
	}
	return rows
}

// Forget removes rows from the store that are older than KeepMinutes or KeepHours.
func (r *Recorder) Forget(ctx context.Context) (err error) {
	for interval, keep := range map[Interval]time.Duration{Minute: KeepMinutes, Hour: KeepHours, Day: KeepHours} {
		before := r.now().Add(-keep - time.Duration(interval)*time.Second).Unix()
		_, failed := r.store.ForgetUsage(ctx, interval, before)
		err = errors.Join(err, failed)
	}
	return err
}
