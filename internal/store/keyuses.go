package store

import (
	"context"
	"fmt"
	"slices"

	"example.com/petstore/internal/access"
)

// Queries of what package usage has saved about keys, and package ratelimit about
// workspaces.
const (
	keyUseColumns = "k.id, k.last_used, coalesce(d.success + d.not_modified + d.client_errors + d.server_errors, 0) AS admitted, coalesce(d.limited, 0)"
	selectKeyUses = "SELECT " + keyUseColumns + ` FROM (SELECT id, workspace, last_used FROM api_keys WHERE last_used > 0 AND %s) k
		LEFT JOIN usage d ON d.workspace = k.workspace AND d.step = 86400 AND d.key = k.id AND d.start = %s`

	// SQLite joins in the order that CROSS JOIN says: the workspaces, which are fewer than keys, come first.
	busiestKeys = "SELECT " + keyUseColumns + ` FROM (
			SELECT w.id, CAST(l.day_used AS DOUBLE PRECISION) / w.per_day AS share FROM workspaces w CROSS JOIN limit_windows l
			WHERE l.subject = 'w:' || w.id AND l.day >= $1 ORDER BY share DESC, w.id LIMIT $2) AS busy
		CROSS JOIN api_keys k CROSS JOIN usage d
		WHERE k.workspace = busy.id AND k.revoked_at IS NULL AND d.workspace = k.workspace AND d.step = 86400 AND d.key = k.id AND d.start = $3
		ORDER BY busy.share DESC, admitted DESC, k.id LIMIT $2`

	overQuota = `SELECT count(*) FROM workspaces w CROSS JOIN limit_windows d WHERE d.subject = 'w:' || w.id
		AND (d.day = $1 AND d.day_used >= w.per_day OR d.minute_start > $2 AND d.minute_used >= w.per_minute)`
)

// usesAtOnce bounds how many keys one query names.
const usesAtOnce = 512

// KeyUses implements [access.Store].
func (s *Store) KeyUses(ctx context.Context, keys []access.Key) (map[string]access.Use, error) {
	uses := map[string]access.Use{}
	for part := range slices.Chunk(keys, usesAtOnce) {
		var ids []any
		for i := range part {
			ids = append(ids, part[i].ID)
		}
		q := &statement{}
		query := fmt.Sprintf(selectKeyUses, q.in("id", ids), q.arg(s.today()*86400))
		list, err := s.keyUses(ctx, query, q.args...)
		if err != nil {
			return nil, err
		}
		for _, u := range list {
			uses[u.KeyID] = u
		}
	}
	return uses, nil
}

// BusiestKeys implements [access.Store].
func (s *Store) BusiestKeys(ctx context.Context, limit int) ([]access.Use, error) {
	return s.keyUses(ctx, busiestKeys, s.today(), int64(limit), s.today()*86400)
}

func (s *Store) keyUses(ctx context.Context, query string, args ...any) ([]access.Use, error) {
	return readRows(ctx, s, func(row Row, u *access.Use) error {
		return scan(row, &u.KeyID, &u.LastUsed, &u.Admitted, &u.Refused)
	}, query, args...)
}

// today returns the present day, in days since 1970-01-01 UTC.
func (s *Store) today() int64 { return s.now().Unix() / 86400 }
