package store

import (
	"context"

	"example.com/petstore/internal/access"
)

// AccessState implements [access.Store].
func (s *Store) AccessState(ctx context.Context) (int64, error) {
	return s.count(ctx, "SELECT state FROM access_state")
}

// changed records that a workspace, a key or a ban changed.
func changed(tx Tx) error { return exec(tx, "UPDATE access_state SET state = state + 1") }

// BannedKeys implements [access.Store].
func (s *Store) BannedKeys(ctx context.Context) ([]string, error) {
	return readRows(ctx, s, func(row Row, id *string) error { return row.Scan(id) }, "SELECT id FROM api_keys WHERE banned_until > $1 AND revoked_at IS NULL ORDER BY banned_until, id", s.now().UnixMilli())
}

// LiveKeys implements [access.Store].
func (s *Store) LiveKeys(ctx context.Context, ids []string, hashes []access.Hash) (keys []access.Key, of []access.Workspace, err error) {
	byID, byHash := []any{""}, []any{[]byte{}} // which no key has
	for _, id := range ids {
		byID = append(byID, id)
	}
	for i := range hashes {
		byHash = append(byHash, hashes[i][:])
	}
	q := &statement{}
	where := "(" + q.in("k.id", byID) + " OR " + q.in("k.hash", byHash) + ") AND k.revoked_at IS NULL"
	err = s.db.Read(ctx, func(tx Tx) (err error) {
		if keys, err = keysWhere(tx, where, q.args...); err != nil || len(keys) == 0 {
			return err
		}
		of, err = workspaces(tx, "id IN (SELECT k.workspace FROM api_keys k WHERE "+where+")", q.args...)
		return err
	})
	return keys, of, err
}
