package store

import (
	"context"
	"slices"

	"example.com/petstore/internal/access"
)

// What limiters save of the use of keys and workspaces.
const (
	keyUseColumns = "l.key_id, l.day, l.admitted, l.refused, l.last_used"
	selectKeyUses = "SELECT " + keyUseColumns + " FROM limit_keys l WHERE l.last_used > 0 AND l.key_id"

	// SQLite joins in the order that CROSS JOIN says: the workspaces, which are fewer than keys, come first.
	busiestKeys = `SELECT ` + keyUseColumns + ` FROM (
			SELECT w.id, CAST(d.day_used AS DOUBLE PRECISION) / w.per_day AS share FROM workspaces w CROSS JOIN limit_windows d
			WHERE d.subject = 'w:' || w.id AND d.day >= $1 ORDER BY share DESC, w.id LIMIT $2) AS busy
		CROSS JOIN api_keys k CROSS JOIN limit_keys l
		WHERE k.workspace = busy.id AND k.revoked_at IS NULL AND l.key_id = k.id AND l.day >= $1 AND l.admitted + l.refused > 0
		ORDER BY busy.share DESC, l.admitted DESC, l.key_id LIMIT $2`

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
		which, args := among(ids)
		list, err := s.keyUses(ctx, selectKeyUses+which, args...)
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
	return s.keyUses(ctx, busiestKeys, s.today(), int64(limit))
}

func (s *Store) keyUses(ctx context.Context, query string, args ...any) ([]access.Use, error) {
	return read(ctx, s, func(tx Tx) (list []access.Use, err error) {
		err = each(tx, query, func(row Row) error {
			var u access.Use
			var day, last int64
			err := row.Scan(&u.KeyID, &day, &u.Admitted, &u.Refused, &last)
			if u.LastUsed = instant(last); day < s.today() {
				u.Admitted, u.Refused = 0, 0
			}
			list = append(list, u)
			return err
		}, args...)
		return list, err
	})
}

// today returns the present day, in days since 1970-01-01 UTC.
func (s *Store) today() int64 { return s.now().Unix() / 86400 }
