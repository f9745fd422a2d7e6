package store

import (
	"cmp"
	"context"
	"strings"

	"example.com/petstore/internal/usage"
)

const (
	usageKey      = "workspace, step, key, start"
	requestCounts = "success, not_modified, client_errors, limited, server_errors"
	usageCounts   = requestCounts + ", l0, l1, l2, l3, l4, l5, l6, l7, l8, l9" // in the order of the members of usage.Counts

	selectUsage = "SELECT workspace, step, start, " + usageCounts + " FROM usage WHERE workspace = $1 AND step = $2 AND key = '' AND start >= $3 AND start < $4 ORDER BY start"

	selectKeyDays = "SELECT workspace, key, start, " + requestCounts + ", deprecated FROM usage WHERE workspace = $1 AND step = $2 AND start >= $3"
	orderKeyDays  = " ORDER BY key, start"

	setKeyUsed = "UPDATE api_keys SET last_used = $1 WHERE id = $2"
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

	addUsage = "INSERT INTO usage AS u (" + usageKey + ", deprecated, " + usageCounts + ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20)" +
		" ON CONFLICT (" + usageKey + ") DO UPDATE SET deprecated = u.deprecated + excluded.deprecated, " + eachCount("% = u.% + excluded.%")
)

// addCounts adds the statement that adds to a row of usage.
func addCounts(b *Batch, workspace int64, step usage.Interval, key string, start, deprecated int64, c *usage.Counts) {
	args := []any{workspace, int64(step), key, start, deprecated}
	for _, n := range append(c.Requests[:], c.Latency[:]...) {
		args = append(args, n)
	}
	b.Exec(addUsage, args...)
}

// AddUsage implements [usage.Store].
func (s *Store) AddUsage(ctx context.Context, rows []usage.Row) error {
	return save(ctx, s, rows, max(len(rows), 1), func(a, b usage.Row) int {
		return cmp.Or(cmp.Compare(a.Workspace, b.Workspace), cmp.Compare(a.Interval, b.Interval), cmp.Compare(a.Start, b.Start))
	}, func(b *Batch, r usage.Row) { addCounts(b, r.Workspace, r.Interval, "", r.Start, 0, &r.Counts) })
}

// AddKeyDays implements [usage.Store].
func (s *Store) AddKeyDays(ctx context.Context, days []usage.KeyDay) error {
	return save(ctx, s, days, max(len(days), 1), func(a, b usage.KeyDay) int {
		return cmp.Or(cmp.Compare(a.Workspace, b.Workspace), cmp.Compare(a.KeyID, b.KeyID), cmp.Compare(a.Day, b.Day))
	}, func(b *Batch, k usage.KeyDay) {
		addCounts(b, k.Workspace, usage.Day, k.KeyID, k.Day, k.Deprecated, &usage.Counts{Requests: k.Requests})
		b.Exec(setKeyUsed, k.LastUsed, k.KeyID)
	})
}

// KeyDays implements [usage.Store].
func (s *Store) KeyDays(ctx context.Context, workspace int64, keyID string, from int64) ([]usage.KeyDay, error) {
	query, args := selectKeyDays, []any{workspace, int64(usage.Day), from}
	if keyID != "" {
		query, args = query+" AND key = $4", append(args, keyID)
	}
	return readRows(ctx, s, func(row Row, k *usage.KeyDay) error {
		columns := []any{&k.Workspace, &k.KeyID, &k.Day}
		for i := range k.Requests {
			columns = append(columns, &k.Requests[i])
		}
		return row.Scan(append(columns, &k.Deprecated)...)
	}, query+orderKeyDays, args...)
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
	return s.steps(ctx, DeleteSome("usage", usageKey, "step = $1 AND start < $2 LIMIT $3"), int64(interval), before, stepRows)
}
