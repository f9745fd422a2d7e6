package postgres

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"example.com/petstore/internal/accesssql"
	"example.com/petstore/internal/usage"
)

var _ usage.Store = (*DB)(nil)

// addUsage returns the statement that adds arrays of counts to the rows.
func addUsage() string {
	arrays := make([]string, strings.Count(accesssql.UsageColumns, ",")+1)
	for i := range arrays {
		arrays[i] = fmt.Sprintf("$%d::bigint[]", i+1)
	}
	return accesssql.AddUsage("SELECT * FROM unnest(" + strings.Join(arrays, ", ") + ")")
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
