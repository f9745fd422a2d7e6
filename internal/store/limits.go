package store

import (
	"cmp"
	"context"
	"slices"

	"example.com/petstore/internal/ratelimit"
)

const (
	// The columns of what the limiter saves, in the order of the members of its rows.
	windowColumns = "subject, minute_start, minute_used, day, day_used"

	// Each node has seen a part of the count of a window: the greatest count is kept.
	saveWindow = `INSERT INTO limit_windows AS t (` + windowColumns + `) VALUES ($1, $2, $3, $4, $5) ON CONFLICT (subject) DO UPDATE SET
		minute_used = CASE WHEN t.minute_start = excluded.minute_start AND t.minute_used > excluded.minute_used THEN t.minute_used ELSE excluded.minute_used END,
		day_used = CASE WHEN t.day = excluded.day AND t.day_used > excluded.day_used THEN t.day_used ELSE excluded.day_used END,
		minute_start = excluded.minute_start, day = excluded.day`
)

// keptDays is how many of the newest days that have windows are kept. Days are not
// compared with the clock alone, which may be wrong: a clock that was wrong for a while
// adds two days at most.
const keptDays = 8

// LoadLimits implements [ratelimit.Store].
func (s *Store) LoadLimits(ctx context.Context) ([]ratelimit.SavedWindow, error) {
	return readRows(ctx, s, func(row Row, w *ratelimit.SavedWindow) error {
		return row.Scan(&w.Subject, &w.MinuteStart, &w.MinuteUsed, &w.Day, &w.DayUsed)
	}, "SELECT "+windowColumns+" FROM limit_windows")
}

// savedAtOnce is how many rows of limits one transaction saves: others that write wait for one
// at most, however many workspaces are active.
const savedAtOnce = 200

// SaveLimits implements [ratelimit.Store].
func (s *Store) SaveLimits(ctx context.Context, rows []ratelimit.SavedWindow) error {
	return save(ctx, s, rows, savedAtOnce, func(a, b ratelimit.SavedWindow) int { return cmp.Compare(a.Subject, b.Subject) },
		func(b *Batch, w ratelimit.SavedWindow) {
			b.Exec(saveWindow, w.Subject, w.MinuteStart, w.MinuteUsed, w.Day, w.DayUsed)
		})
}

// save runs the statements that add has for each row, in transactions of so many rows. All
// nodes save rows in one order, so that they do not deadlock.
func save[T any](ctx context.Context, s *Store, rows []T, most int, order func(a, b T) int, add func(*Batch, T)) error {
	for some := range slices.Chunk(slices.SortedFunc(slices.Values(rows), order), most) {
		var b Batch
		for _, row := range some {
			add(&b, row)
		}
		if err := s.db.WriteBulk(ctx, 0, func(tx Tx) error { return tx.Run(&b) }); err != nil {
			return err
		}
	}
	return nil
}

// forgetWindows removes the windows of old days, once a day.
func (s *Store) forgetWindows(tx Tx) error {
	today := s.today()
	if s.forgot.Swap(today) == today {
		return nil
	}
	return exec(tx, `DELETE FROM limit_windows WHERE day < (SELECT min(day) FROM
		(SELECT DISTINCT day FROM limit_windows ORDER BY day DESC LIMIT $1) AS kept) AND day < $2`, int64(keptDays), today-1)
}
