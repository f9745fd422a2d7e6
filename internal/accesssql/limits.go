package accesssql

import (
	"context"

	"example.com/petstore/internal/ratelimit"
)

// The columns of what the limiter saves, in the order of the members of its rows.
const (
	WindowColumns   = "subject, minute_start, minute_used, day, day_used"
	LimitKeyColumns = "key_id, workspace, day, admitted, refused, last_used, level, clean_since, run_from, run_until, strikes"
)

// keptDays is how many days that have windows are kept, the newest ones. Days are
// not compared with the clock alone: it may be wrong, and one that was wrong for a
// while leaves two days behind at most.
const keptDays = 8

// LoadLimits implements [ratelimit.Store].
func (s *Store) LoadLimits(ctx context.Context) (saved ratelimit.Saved, err error) {
	err = s.db.Read(ctx, func(tx Tx) error {
		saved = ratelimit.Saved{}
		err := tx.Query("SELECT "+WindowColumns+" FROM limit_windows", func(row Row) error {
			var w ratelimit.SavedWindow
			err := row.Scan(&w.Subject, &w.MinuteStart, &w.MinuteUsed, &w.Day, &w.DayUsed)
			saved.Windows = append(saved.Windows, w)
			return err
		})
		if err != nil {
			return err
		}
		return tx.Query("SELECT "+LimitKeyColumns+" FROM limit_keys", func(row Row) error {
			var k ratelimit.SavedKey
			err := row.Scan(&k.KeyID, &k.Workspace, &k.Day, &k.Admitted, &k.Refused, &k.LastUsed,
				&k.Level, &k.CleanSince, &k.RunFrom, &k.RunUntil, &k.Strikes)
			saved.Keys = append(saved.Keys, k)
			return err
		})
	})
	return saved, err
}

// forgetWindows removes the windows of old days, once a day.
func (s *Store) forgetWindows(tx Tx) error {
	today := s.now().Unix() / 86400
	if s.forgot.Swap(today) == today {
		return nil
	}
	return exec(tx, `DELETE FROM limit_windows WHERE day < (SELECT min(day) FROM
		(SELECT DISTINCT day FROM limit_windows ORDER BY day DESC LIMIT $1) AS kept) AND day < $2`, int64(keptDays), today-1)
}
