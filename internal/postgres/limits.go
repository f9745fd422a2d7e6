package postgres

import (
	"cmp"
	"context"
	"slices"

	"example.com/petstore/internal/accesssql"
	"example.com/petstore/internal/ratelimit"
	"github.com/jackc/pgx/v5"
)

const (
	// Of one window the nodes saw more or less of the same count: the most holds.
	saveWindows = `INSERT INTO limit_windows AS t (` + accesssql.WindowColumns + `)
		SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[])
		ON CONFLICT (subject) DO UPDATE SET
			minute_used = CASE t.minute_start WHEN excluded.minute_start THEN greatest(t.minute_used, excluded.minute_used) ELSE excluded.minute_used END,
			day_used = CASE t.day WHEN excluded.day THEN greatest(t.day_used, excluded.day_used) ELSE excluded.day_used END,
			minute_start = excluded.minute_start, day = excluded.day`

	// The counts are what was added on this node since it saved last.
	saveLimitKeys = `INSERT INTO limit_keys AS t (` + accesssql.LimitKeyColumns + `)
		SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[],
			$8::bigint[], $9::bigint[], $10::bigint[], $11::text[]) AS r(` + accesssql.LimitKeyColumns + `)
		WHERE EXISTS (SELECT FROM workspaces WHERE id = r.workspace)
		ON CONFLICT (key_id) DO UPDATE SET workspace = excluded.workspace,
			admitted = excluded.admitted + CASE t.day WHEN excluded.day THEN t.admitted ELSE 0 END,
			refused = excluded.refused + CASE t.day WHEN excluded.day THEN t.refused ELSE 0 END,
			day = excluded.day, level = excluded.level, clean_since = excluded.clean_since,
			last_used = CASE WHEN t.last_used < excluded.last_used + 86400000 THEN greatest(t.last_used, excluded.last_used) ELSE excluded.last_used END,
			run_from = excluded.run_from, run_until = excluded.run_until, strikes = excluded.strikes`
)

// LoadLimits implements [ratelimit.Store].
func (db *DB) LoadLimits(ctx context.Context) (ratelimit.Saved, error) {
	saved, err := db.Store.LoadLimits(ctx)
	if err == nil {
		db.added.begin(saved.Keys)
	}
	return saved, err
}

// SaveLimits implements [ratelimit.Store]. What the keys did adds up over the
// nodes; of a save whose outcome is not known it may count twice.
func (db *DB) SaveLimits(ctx context.Context, rows ratelimit.Saved) error {
	if rows.Empty() {
		return nil
	}
	db.added.mu.Lock()
	defer db.added.mu.Unlock()
	more := db.added.since(rows.Keys)
	b := func() *pgx.Batch {
		b := new(pgx.Batch)
		queueWindows(b, rows.Windows)
		queueLimitKeys(b, more)
		return b
	}
	err := db.change(ctx, func(x *txn) error { return x.SendBatch(ctx, b()).Close() })
	if err == nil {
		db.added.keep(rows.Keys)
	}
	return err
}

// values returns one member of every row.
func values[T, V any](rows []T, value func(*T) V) []V {
	all := make([]V, len(rows))
	for i := range rows {
		all[i] = value(&rows[i])
	}
	return all
}

// queueWindows queues the rows in the order of their keys: nodes that save the
// same ones do not wait for each other in a circle.
func queueWindows(b *pgx.Batch, rows []ratelimit.SavedWindow) {
	if len(rows) == 0 {
		return
	}
	type row = ratelimit.SavedWindow
	rows = slices.SortedFunc(slices.Values(rows), func(a, b row) int { return cmp.Compare(a.Subject, b.Subject) })
	b.Queue(saveWindows,
		values(rows, func(w *row) string { return w.Subject }),
		values(rows, func(w *row) int64 { return w.MinuteStart }),
		values(rows, func(w *row) int64 { return w.MinuteUsed }),
		values(rows, func(w *row) int64 { return w.Day }),
		values(rows, func(w *row) int64 { return w.DayUsed }))
}

func queueLimitKeys(b *pgx.Batch, rows []ratelimit.SavedKey) {
	if len(rows) == 0 {
		return
	}
	type row = ratelimit.SavedKey
	rows = slices.SortedFunc(slices.Values(rows), func(a, b row) int { return cmp.Compare(a.KeyID, b.KeyID) })
	b.Queue(saveLimitKeys,
		values(rows, func(k *row) string { return k.KeyID }),
		values(rows, func(k *row) int64 { return k.Workspace }),
		values(rows, func(k *row) int64 { return k.Day }),
		values(rows, func(k *row) int64 { return k.Admitted }),
		values(rows, func(k *row) int64 { return k.Refused }),
		values(rows, func(k *row) int64 { return k.LastUsed }),
		values(rows, func(k *row) int64 { return k.Level }),
		values(rows, func(k *row) int64 { return k.CleanSince }),
		values(rows, func(k *row) int64 { return k.RunFrom }),
		values(rows, func(k *row) int64 { return k.RunUntil }),
		values(rows, func(k *row) string { return k.Strikes }))
}
