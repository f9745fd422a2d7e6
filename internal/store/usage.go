package store

import (
	"cmp"
	"context"
	"strings"

	"example.com/petstore/internal/usage"
)

const (
	usageKey    = "workspace, step, start, key"
	usageCounts = "success, not_modified, client_errors, limited, server_errors, l0, l1, l2, l3, l4, l5, l6, l7, l8, l9, deprecated" // in the order of the members of usage.Counts

	selectUsage = "SELECT start, key, " + usageCounts + " FROM usage" +
		" WHERE workspace = $1 AND step = $2 AND start >= $3 AND start <= $4 AND ($5 = '' OR key = $5) ORDER BY start, key"

	setKeyUsed = "UPDATE api_keys SET last_used = $1 WHERE id = $2"
)

// eachAdded returns SQL that adds what was counted to each count.
func eachAdded() string {
	var all []string
	for name := range strings.SplitSeq(usageCounts, ", ") {
		all = append(all, name+" = u."+name+" + excluded."+name)
	}
	return strings.Join(all, ", ")
}

var addUsage = "INSERT INTO usage AS u (" + usageKey + ", " + usageCounts + ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20)" +
	" ON CONFLICT (" + usageKey + ") DO UPDATE SET " + eachAdded()

// AddUsage implements [usage.Store].
func (s *Store) AddUsage(ctx context.Context, rows []usage.Row) error {
	return save(ctx, s, rows, max(len(rows), 1), func(a, b usage.Row) int {
		return cmp.Or(cmp.Compare(a.Workspace, b.Workspace), cmp.Compare(a.Interval, b.Interval), cmp.Compare(a.Start, b.Start), cmp.Compare(a.Key, b.Key))
	}, func(b *Batch, r usage.Row) {
		args := []any{r.Workspace, int64(r.Interval), r.Start, r.Key}
		for _, n := range append(r.Requests[:], r.Latency[:]...) {
			args = append(args, n)
		}
		b.Exec(addUsage, append(args, r.Deprecated)...)
		if r.LastUsed > 0 {
			b.Exec(setKeyUsed, r.LastUsed, r.Key)
		}
	})
}

// Usage implements [usage.Store].
func (s *Store) Usage(ctx context.Context, q usage.Query) ([]usage.Row, error) {
	return readRows(ctx, s, func(row Row, r *usage.Row) error {
		r.Workspace, r.Interval = q.Workspace, q.Interval
		columns := []any{&r.Start, &r.Key}
		for i := range r.Requests {
			columns = append(columns, &r.Requests[i])
		}
		for i := range r.Latency {
			columns = append(columns, &r.Latency[i])
		}
		return row.Scan(append(columns, &r.Deprecated)...)
	}, selectUsage, q.Workspace, int64(q.Interval), q.Interval.Start(q.From), q.To.Unix(), q.Key)
}

// ForgetUsage implements [usage.Store].
func (s *Store) ForgetUsage(ctx context.Context, interval usage.Interval, before int64) (removed int, err error) {
	return s.steps(ctx, DeleteSome("usage", usageKey, "step = $1 AND start < $2 LIMIT $3"), int64(interval), before, stepRows)
}
