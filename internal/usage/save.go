package usage

import (
	"context"
	"errors"
	"slices"
	"time"
)

const maxRows = 100 // in one call of AddUsage; others wait for its transaction

// Save saves what was counted so far. What cannot be saved is saved by the next call. It removes the logs of workspaces without requests for a while.
func (r *Recorder) Save(ctx context.Context) (err error) {
	for some := range slices.Chunk(r.take(), maxRows) {
		if err == nil {
			err = r.AddUsage(ctx, some)
		}
		if err != nil {
			r.hold(some)
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

// hold takes back rows that could not be saved.
func (r *Recorder) hold(rows []Row) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range rows {
		r.add(&rows[i])
	}
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
