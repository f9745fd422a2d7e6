package sqlite

import (
	"context"

	"example.com/petstore/internal/usage"
	"zombiezen.com/go/sqlite"
)

var _ usage.Store = (*DB)(nil)

const (
	usageColumns = "workspace, step, start, success, not_modified, client_errors, limited, server_errors, l0, l1, l2, l3, l4, l5, l6, l7, l8, l9"

	addUsage = "INSERT INTO usage (" + usageColumns + ") VALUES (?,?,?, ?,?,?,?,?, ?,?,?,?,?,?,?,?,?,?)" +
		" ON CONFLICT (workspace, step, start) DO UPDATE SET success=success+excluded.success, not_modified=not_modified+excluded.not_modified," +
		" client_errors=client_errors+excluded.client_errors, limited=limited+excluded.limited, server_errors=server_errors+excluded.server_errors," +
		" l0=l0+excluded.l0, l1=l1+excluded.l1, l2=l2+excluded.l2, l3=l3+excluded.l3, l4=l4+excluded.l4," +
		" l5=l5+excluded.l5, l6=l6+excluded.l6, l7=l7+excluded.l7, l8=l8+excluded.l8, l9=l9+excluded.l9"

	selectUsage = "SELECT " + usageColumns + " FROM usage WHERE workspace=? AND step=? AND start>=? AND start<? ORDER BY start"

	selectUsageOfAll = "SELECT 0, step, start, sum(success), sum(not_modified), sum(client_errors), sum(limited), sum(server_errors)," +
		" sum(l0), sum(l1), sum(l2), sum(l3), sum(l4), sum(l5), sum(l6), sum(l7), sum(l8), sum(l9)" +
		" FROM usage WHERE step=? AND start>=? AND start<? GROUP BY step, start ORDER BY step, start"

	forgetUsageAtOnce = 2000 // rows
	deleteUsage       = "DELETE FROM usage WHERE (workspace, step, start) IN (SELECT workspace, step, start FROM usage WHERE step=? AND start<? LIMIT ?)"
)

// AddUsage implements [usage.Store].
func (db *DB) AddUsage(ctx context.Context, rows []usage.Row) error {
	if len(rows) == 0 {
		return nil
	}
	return db.changeOf(ctx, named, func(c *conn) error {
		c.touched.wrote = true
		for i := range rows {
			r := &rows[i]
			stmt, err := c.ints(addUsage, r.Workspace, int64(r.Step), r.Start)
			if err != nil {
				return err
			}
			param := 4
			for _, n := range append(r.Requests[:], r.Latency[:]...) {
				stmt.BindInt64(param, n)
				param++
			}
			if _, err := stmt.Step(); err != nil {
				return err
			}
		}
		return nil
	})
}

// Usage implements [usage.Store].
func (db *DB) Usage(ctx context.Context, workspace int64, step usage.Step, from, to int64) ([]usage.Row, error) {
	return db.usage(ctx, selectUsage, workspace, int64(step), from, to)
}

// UsageOfAll implements [usage.Store].
func (db *DB) UsageOfAll(ctx context.Context, step usage.Step, from, to int64) ([]usage.Row, error) {
	return db.usage(ctx, selectUsageOfAll, int64(step), from, to)
}

func (db *DB) usage(ctx context.Context, query string, args ...int64) ([]usage.Row, error) {
	list := []usage.Row{}
	err := db.read(ctx, func(c *conn) error {
		stmt, err := c.ints(query, args...)
		if err != nil {
			return err
		}
		return rows(stmt, func(row *sqlite.Stmt) { list = append(list, scanUsage(row)) })
	})
	return list, err
}

func scanUsage(row *sqlite.Stmt) usage.Row {
	r := usage.Row{Workspace: row.ColumnInt64(0), Step: usage.Step(row.ColumnInt64(1)), Start: row.ColumnInt64(2)}
	for i := range r.Requests {
		r.Requests[i] = row.ColumnInt64(3 + i)
	}
	for i := range r.Latency {
		r.Latency[i] = row.ColumnInt64(3 + len(r.Requests) + i)
	}
	return r
}

// ForgetUsage implements [usage.Store].
func (db *DB) ForgetUsage(ctx context.Context, step usage.Step, before int64) (removed int, err error) {
	err = db.change(ctx, func(c *conn) error {
		if err := c.exec(deleteUsage, int64(step), before, forgetUsageAtOnce); err != nil {
			return err
		}
		removed = c.Changes()
		return nil
	})
	return removed, err
}
