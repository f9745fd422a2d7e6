package postgres

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"example.com/petstore/internal/usage"
	"github.com/jackc/pgx/v5"
)

var _ usage.Store = (*DB)(nil)

const (
	usageKey     = "workspace, step, start"
	usageCounts  = "success, not_modified, client_errors, limited, server_errors, l0, l1, l2, l3, l4, l5, l6, l7, l8, l9"
	usageColumns = usageKey + ", " + usageCounts

	selectUsage = "SELECT " + usageColumns + " FROM usage WHERE workspace = $1 AND step = $2 AND start >= $3 AND start < $4 ORDER BY start"

	forgetUsageAtOnce = 2000 // rows

	// Each node leaves alone what another one is removing.
	deleteUsage = `DELETE FROM usage WHERE ctid = ANY (ARRAY(
		SELECT ctid FROM usage WHERE step = $1 AND start < $2 LIMIT $3 FOR UPDATE SKIP LOCKED))`
)

// addUsage returns the statement that adds arrays of counts to the rows.
func addUsage() string {
	columns := strings.Split(usageColumns, ", ")
	arrays := make([]string, len(columns))
	for i := range columns {
		arrays[i] = fmt.Sprintf("$%d::bigint[]", i+1)
	}
	var sums []string
	for name := range strings.SplitSeq(usageCounts, ", ") {
		sums = append(sums, fmt.Sprintf("%s = u.%s + excluded.%s", name, name, name))
	}
	return "INSERT INTO usage AS u (" + usageColumns + ") SELECT * FROM unnest(" + strings.Join(arrays, ", ") + ")" +
		" ON CONFLICT (" + usageKey + ") DO UPDATE SET " + strings.Join(sums, ", ")
}

// selectUsageOfAll returns the statement that adds up the rows of all workspaces.
func selectUsageOfAll() string {
	sums := "sum(" + strings.ReplaceAll(usageCounts, ", ", ")::bigint, sum(") + ")::bigint"
	return "SELECT 0::bigint, step::bigint, start, " + sums + " FROM usage WHERE step = $1 AND start >= $2 AND start < $3 GROUP BY step, start ORDER BY step, start"
}

// AddUsage implements [usage.Store].
func (db *DB) AddUsage(ctx context.Context, rows []usage.Row) error {
	if len(rows) == 0 {
		return nil
	}
	args := usageArrays(summed(rows))
	return db.change(ctx, func(x *txn) error { return x.exec(addUsage(), args...) })
}

// summed returns one row for each key, in the order of their keys: nodes that
// add to the same ones do not wait for each other in a circle.
func summed(rows []usage.Row) []usage.Row {
	rows = slices.SortedFunc(slices.Values(rows), func(a, b usage.Row) int {
		return cmp.Or(cmp.Compare(a.Workspace, b.Workspace), cmp.Compare(a.Step, b.Step), cmp.Compare(a.Start, b.Start))
	})
	all := rows[:0]
	for i := range rows {
		r, last := &rows[i], len(all)-1
		if last >= 0 && all[last].Workspace == r.Workspace && all[last].Step == r.Step && all[last].Start == r.Start {
			all[last].Add(&r.Counts)
			continue
		}
		all = append(all, *r)
	}
	return all
}

// usageArrays returns the columns of the rows.
func usageArrays(rows []usage.Row) []any {
	args := []any{
		values(rows, func(r *usage.Row) int64 { return r.Workspace }),
		values(rows, func(r *usage.Row) int64 { return int64(r.Step) }),
		values(rows, func(r *usage.Row) int64 { return r.Start }),
	}
	for i := range usage.Classes {
		args = append(args, values(rows, func(r *usage.Row) int64 { return r.Requests[i] }))
	}
	for i := range usage.Buckets {
		args = append(args, values(rows, func(r *usage.Row) int64 { return r.Latency[i] }))
	}
	return args
}

// Usage implements [usage.Store].
func (db *DB) Usage(ctx context.Context, workspace int64, step usage.Step, from, to int64) (list []usage.Row, err error) {
	err = db.readAccess(ctx, func(c querier) error {
		list, err = collect(ctx, c, scanUsage, selectUsage, workspace, int64(step), from, to)
		return err
	})
	return list, err
}

// UsageOfAll implements [usage.Store].
func (db *DB) UsageOfAll(ctx context.Context, step usage.Step, from, to int64) (list []usage.Row, err error) {
	err = db.readAccess(ctx, func(c querier) error {
		list, err = collect(ctx, c, scanUsage, selectUsageOfAll(), int64(step), from, to)
		return err
	})
	return list, err
}

func scanUsage(row pgx.Row, r *usage.Row) error {
	columns := []any{&r.Workspace, (*int64)(&r.Step), &r.Start}
	for i := range r.Requests {
		columns = append(columns, &r.Requests[i])
	}
	for i := range r.Latency {
		columns = append(columns, &r.Latency[i])
	}
	return row.Scan(columns...)
}

// ForgetUsage implements [usage.Store].
func (db *DB) ForgetUsage(ctx context.Context, step usage.Step, before int64) (int, error) {
	tag, err := db.writer.Exec(ctx, deleteUsage, int64(step), before, forgetUsageAtOnce)
	if err != nil {
		return 0, judge(err)
	}
	return int(tag.RowsAffected()), nil
}
