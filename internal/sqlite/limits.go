package sqlite

import (
	"context"

	"example.com/petstore/internal/ratelimit"
	"zombiezen.com/go/sqlite"
)

// keptDays is how many days that have windows are kept, the newest ones. Days are
// not compared with the clock: it may be wrong, and one that was wrong for a while
// leaves two days behind at most.
const keptDays = 8

const (
	windowColumns   = "subject, minute_start, minute_used, day, day_used"
	limitKeyColumns = "key_id, workspace, day, admitted, refused, last_used, level, clean_since, run_from, run_until, strikes"
)

// LoadLimits implements [ratelimit.Store].
func (db *DB) LoadLimits(ctx context.Context) (saved ratelimit.Saved, err error) {
	err = db.readLong(ctx, snapshot(func(c *conn) error {
		err := c.each("SELECT "+windowColumns+" FROM limit_windows", func(row *sqlite.Stmt) {
			saved.Windows = append(saved.Windows, scanWindow(row))
		})
		if err != nil {
			return err
		}
		return c.each("SELECT "+limitKeyColumns+" FROM limit_keys", func(row *sqlite.Stmt) {
			saved.Keys = append(saved.Keys, scanLimitKey(row))
		})
	}))
	return saved, err
}

func scanWindow(row *sqlite.Stmt) ratelimit.SavedWindow {
	return ratelimit.SavedWindow{
		Subject: row.ColumnText(0), MinuteStart: row.ColumnInt64(1), MinuteUsed: row.ColumnInt64(2),
		Day: row.ColumnInt64(3), DayUsed: row.ColumnInt64(4),
	}
}

func scanLimitKey(row *sqlite.Stmt) ratelimit.SavedKey {
	return ratelimit.SavedKey{
		KeyID: row.ColumnText(0), Workspace: row.ColumnInt64(1), Day: row.ColumnInt64(2),
		Admitted: row.ColumnInt64(3), Refused: row.ColumnInt64(4), LastUsed: row.ColumnInt64(5),
		Level: row.ColumnInt64(6), CleanSince: row.ColumnInt64(7),
		RunFrom: row.ColumnInt64(8), RunUntil: row.ColumnInt64(9), Strikes: row.ColumnText(10),
	}
}

// SaveLimits implements [ratelimit.Store]. With the first row of another day it
// deletes old ones.
func (db *DB) SaveLimits(ctx context.Context, rows ratelimit.Saved) error {
	if rows.Empty() {
		return nil
	}
	return db.changeOf(ctx, named, func(c *conn) error {
		c.touched.wrote = true
		for _, w := range rows.Windows {
			if err := c.exec("INSERT OR REPLACE INTO limit_windows ("+windowColumns+") VALUES (?, ?, ?, ?, ?)",
				w.Subject, w.MinuteStart, w.MinuteUsed, w.Day, w.DayUsed); err != nil {
				return err
			}
		}
		for _, k := range rows.Keys {
			if err := c.exec("INSERT OR REPLACE INTO limit_keys ("+limitKeyColumns+
				") SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11 WHERE EXISTS (SELECT 1 FROM workspaces WHERE id=?2)",
				k.KeyID, k.Workspace, k.Day, k.Admitted, k.Refused, k.LastUsed, k.Level, k.CleanSince,
				k.RunFrom, k.RunUntil, k.Strikes); err != nil {
				return err
			}
		}
		return db.pruneLimits(c, rows.Windows)
	})
}

// pruneLimits deletes old rows when the first one of another day is saved. Only
// the writer calls it.
func (db *DB) pruneLimits(c *conn, saved []ratelimit.SavedWindow) error {
	before := db.limitDay
	for _, w := range saved {
		db.limitDay = w.Day
	}
	if db.limitDay == before {
		return nil
	}
	return c.exec("DELETE FROM limit_windows WHERE day < (SELECT min(day) FROM (SELECT DISTINCT day FROM limit_windows ORDER BY day DESC LIMIT ?)) AND day < ?",
		keptDays, db.limitDay-1)
}
