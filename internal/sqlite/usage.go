package sqlite

import (
	"context"
	"strings"

	"example.com/petstore/internal/accesssql"
	"example.com/petstore/internal/usage"
)

var _ usage.Store = (*DB)(nil)

var addUsage = accesssql.AddUsage("VALUES (?" + strings.Repeat(",?", strings.Count(accesssql.UsageColumns, ",")) + ")")

// AddUsage implements [usage.Store].
func (db *DB) AddUsage(ctx context.Context, rows []usage.Row) error {
	if len(rows) == 0 {
		return nil
	}
	return db.changeOf(ctx, named, func(c *conn) error {
		c.touched.wrote = true
		for i := range rows {
			r := &rows[i]
			stmt, err := c.ints(addUsage, append(append([]int64{r.Workspace, int64(r.Step), r.Start}, r.Requests[:]...), r.Latency[:]...)...)
			if err != nil {
				return err
			}
			if _, err := stmt.Step(); err != nil {
				return err
			}
		}
		return nil
	})
}
