package sqlite

import (
	"context"

	"example.com/petstore/internal/accesssql"
	"example.com/petstore/internal/ratelimit"
)

// SaveLimits implements [ratelimit.Store].
func (db *DB) SaveLimits(ctx context.Context, rows ratelimit.Saved) error {
	if rows.Empty() {
		return nil
	}
	return db.changeOf(ctx, named, func(c *conn) error {
		c.touched.wrote = true
		for _, w := range rows.Windows {
			if err := c.exec("INSERT OR REPLACE INTO limit_windows ("+accesssql.WindowColumns+") VALUES (?, ?, ?, ?, ?)",
				w.Subject, w.MinuteStart, w.MinuteUsed, w.Day, w.DayUsed); err != nil {
				return err
			}
		}
		for _, k := range rows.Keys {
			if err := c.exec("INSERT OR REPLACE INTO limit_keys ("+accesssql.LimitKeyColumns+
				") SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11 WHERE EXISTS (SELECT 1 FROM workspaces WHERE id=?2)",
				k.KeyID, k.Workspace, k.Day, k.Admitted, k.Refused, k.LastUsed, k.Level, k.CleanSince,
				k.RunFrom, k.RunUntil, k.Strikes); err != nil {
				return err
			}
		}
		return nil
	})
}
