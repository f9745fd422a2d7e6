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
	var byID, byHash []any
	for _, id := range ids {
		if storable(id) {
			byID = append(byID, id)
		}
	}
	for i := range hashes {
		byHash = append(byHash, hashes[i][:])
	}
	err = s.db.Read(ctx, func(tx Tx) error {
		keys, of = nil, nil
		for column, values := range map[string][]any{"k.id": byID, "k.hash": byHash} {
			if len(values) == 0 {
				continue
			}
			list, args := inList(values)
			more, theirs, err := withWorkspaces(tx, column+list+" AND k.revoked_at IS NULL", args...)
			if err != nil {
				return err
			}
			keys, of = append(keys, more...), append(of, theirs...)
		}
		return nil
	})
	return keys, of, err
}

// inList returns the condition that a column has one of the values, and its arguments.
func inList(values []any) (condition string, args []any) {
	s := &statement{}
	return s.in("", values)[len(" AND "):], s.args
}

// withWorkspaces returns the keys that a condition selects, in no order, and their
// workspaces.
func withWorkspaces(tx Tx, where string, args ...any) ([]access.Key, []access.Workspace, error) {
	keys, err := keysWhere(tx, where, args...)
	if err != nil || len(keys) == 0 {
		return nil, nil, err
	}
	all, err := workspaces(tx, "id IN (SELECT k.workspace FROM api_keys k WHERE "+where+")", args...)
	return keys, all, err
}
