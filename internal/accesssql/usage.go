package accesssql

import (
	"context"
	"strings"

	"example.com/petstore/internal/usage"
)

const (
	usageKey    = "workspace, step, start"
	usageCounts = "success, not_modified, client_errors, limited, server_errors, l0, l1, l2, l3, l4, l5, l6, l7, l8, l9"

	// UsageColumns are those of the table usage, in the order of a row's members.
	UsageColumns = usageKey + ", " + usageCounts

	selectUsage = "SELECT " + UsageColumns + " FROM usage WHERE workspace = $1 AND step = $2 AND start >= $3 AND start < $4 ORDER BY start"

	forgetUsageAtOnce = 2000 // rows
	deleteUsage       = "DELETE FROM usage WHERE (" + usageKey + ") IN (SELECT " + usageKey + " FROM usage WHERE step = $1 AND start < $2 LIMIT $3)"
)

// eachCount returns SQL for each count, whose name stands for the %.
func eachCount(sql string) string {
	var all []string
	for name := range strings.SplitSeq(usageCounts, ", ") {
		all = append(all, strings.ReplaceAll(sql, "%", name))
	}
	return strings.Join(all, ", ")
}

var (
	selectUsageOfAll = "SELECT 0, step, start, " + eachCount("CAST(sum(%) AS bigint)") +
		" FROM usage WHERE step = $1 AND start >= $2 AND start < $3 GROUP BY step, start ORDER BY start"

	addCounts = " ON CONFLICT (" + usageKey + ") DO UPDATE SET " + eachCount("% = u.% + excluded.%")
)

// AddUsage returns the statement that adds rows, which have [UsageColumns], to those
// of the table.
func AddUsage(rows string) string {
	return "INSERT INTO usage AS u (" + UsageColumns + ") " + rows + addCounts
}

// Usage implements [usage.Store].
func (s *Store) Usage(ctx context.Context, workspace int64, step usage.Step, from, to int64) ([]usage.Row, error) {
	return s.usage(ctx, selectUsage, workspace, int64(step), from, to)
}

// UsageOfAll implements [usage.Store].
func (s *Store) UsageOfAll(ctx context.Context, step usage.Step, from, to int64) ([]usage.Row, error) {
	return s.usage(ctx, selectUsageOfAll, int64(step), from, to)
}

func (s *Store) usage(ctx context.Context, query string, args ...any) (list []usage.Row, err error) {
	err = s.db.Read(ctx, func(tx Tx) error {
		list = []usage.Row{}
		return tx.Query(query, func(row Row) error {
			var r usage.Row
			columns := []any{&r.Workspace, (*int64)(&r.Step), &r.Start}
			for i := range r.Requests {
				columns = append(columns, &r.Requests[i])
			}
			for i := range r.Latency {
				columns = append(columns, &r.Latency[i])
			}
			err := row.Scan(columns...)
			list = append(list, r)
			return err
		}, args...)
	})
	return list, err
}

// ForgetUsage implements [usage.Store].
func (s *Store) ForgetUsage(ctx context.Context, step usage.Step, before int64) (removed int, err error) {
	err = s.db.Step(ctx, func(tx Tx) error {
		n, err := tx.Exec(deleteUsage, int64(step), before, int64(forgetUsageAtOnce))
		removed = int(n)
		return err
	})
	return removed, err
}
