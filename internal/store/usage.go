package store

import (
	"cmp"
	"context"
	"strings"

	"example.com/petstore/internal/usage"
)

const (
	usageKey    = "workspace, step, start"
	usageCounts = "success, not_modified, client_errors, limited, server_errors, l0, l1, l2, l3, l4, l5, l6, l7, l8, l9"

	usageColumns = usageKey + ", " + usageCounts // in the order of the members of usage.Row; step has the interval

	selectUsage = "SELECT " + usageColumns + " FROM usage WHERE workspace = $1 AND step = $2 AND start >= $3 AND start < $4 ORDER BY start"
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

	addUsage = "INSERT INTO usage AS u (" + usageColumns + ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)" +
		" ON CONFLICT (" + usageKey + ") DO UPDATE SET " + eachCount("% = u.% + excluded.%")
)

// AddUsage implements [usage.Store].
func (s *Store) AddUsage(ctx context.Context, rows []usage.Row) error {
	return save(ctx, s, rows, max(len(rows), 1), func(a, b usage.Row) int {
		return cmp.Or(cmp.Compare(a.Workspace, b.Workspace), cmp.Compare(a.Interval, b.Interval), cmp.Compare(a.Start, b.Start))
	}, func(b *Batch, r usage.Row) {
		args := []any{r.Workspace, int64(r.Interval), r.Start}
		for _, n := range append(r.Requests[:], r.Latency[:]...) {
			args = append(args, n)
		}
		b.Exec(addUsage, args...)
	})
}

// Usage implements [usage.Store].
func (s *Store) Usage(ctx context.Context, workspace int64, interval usage.Interval, from, to int64) ([]usage.Row, error) {
	return readRows(ctx, s, scanUsage, selectUsage, workspace, int64(interval), from, to)
}

// UsageOfAll implements [usage.Store].
func (s *Store) UsageOfAll(ctx context.Context, interval usage.Interval, from, to int64) ([]usage.Row, error) {
	return readRows(ctx, s, scanUsage, selectUsageOfAll, int64(interval), from, to)
}

func scanUsage(row Row, r *usage.Row) error {
	columns := []any{&r.Workspace, (*int64)(&r.Interval), &r.Start}
	for i := range r.Requests {
		columns = append(columns, &r.Requests[i])
	}
	for i := range r.Latency {
		columns = append(columns, &r.Latency[i])
	}
	return row.Scan(columns...)
}

// ForgetUsage implements [usage.Store].
func (s *Store) ForgetUsage(ctx context.Context, interval usage.Interval, before int64) (removed int, err error) {
	if interval == usage.Day {
		return s.steps(ctx, DeleteSome("key_days", "workspace, key, day", "day < $1 LIMIT $2"), before, stepRows)
	}
	return s.steps(ctx, DeleteSome("usage", usageKey, "step = $1 AND start < $2 LIMIT $3"), int64(interval), before, stepRows)
}
