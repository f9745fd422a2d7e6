package store

import (
	"cmp"
	"context"

	"example.com/petstore/internal/usage"
)

const (
	keyDayColumns = "workspace, key, day, success, not_modified, client_errors, limited, server_errors, deprecated"

	addKeyDay = "INSERT INTO key_days AS k (" + keyDayColumns + ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (workspace, key, day) DO UPDATE SET" +
		" success = k.success + excluded.success, not_modified = k.not_modified + excluded.not_modified, client_errors = k.client_errors + excluded.client_errors," +
		" limited = k.limited + excluded.limited, server_errors = k.server_errors + excluded.server_errors, deprecated = k.deprecated + excluded.deprecated"

	setKeyUsed = "UPDATE api_keys SET last_used = $1 WHERE id = $2"

	selectKeyDays = "SELECT " + keyDayColumns + " FROM key_days WHERE workspace = $1 AND day >= $2"
	orderKeyDays  = " ORDER BY key, day"
)

// AddKeyDays implements [usage.Store].
func (s *Store) AddKeyDays(ctx context.Context, days []usage.KeyDay) error {
	return save(ctx, s, days, max(len(days), 1), func(a, b usage.KeyDay) int {
		return cmp.Or(cmp.Compare(a.Workspace, b.Workspace), cmp.Compare(a.KeyID, b.KeyID), cmp.Compare(a.Day, b.Day))
	}, func(b *Batch, k usage.KeyDay) {
		args := []any{k.Workspace, k.KeyID, k.Day}
		for _, n := range k.Requests {
			args = append(args, n)
		}
		b.Exec(addKeyDay, append(args, k.Deprecated)...)
		b.Exec(setKeyUsed, k.LastUsed, k.KeyID)
	})
}

// KeyDays implements [usage.Store].
func (s *Store) KeyDays(ctx context.Context, workspace int64, keyID string, from int64) ([]usage.KeyDay, error) {
	query, args := selectKeyDays+orderKeyDays, []any{workspace, from}
	if keyID != "" {
		query, args = selectKeyDays+" AND key = $3"+orderKeyDays, append(args, keyID)
	}
	return readRows(ctx, s, func(row Row, k *usage.KeyDay) error {
		columns := []any{&k.Workspace, &k.KeyID, &k.Day}
		for i := range k.Requests {
			columns = append(columns, &k.Requests[i])
		}
		return row.Scan(append(columns, &k.Deprecated)...)
	}, query, args...)
}
