package store

import (
	"context"
	"strconv"
	"strings"

	"example.com/petstore/internal/access"
)

// Changes implements [access.Store]. A call when nothing changed is one look-up
// of one row.
//
// The state is read first: what changes while the rows are read is told by the
// next call once more. A reader ahead of the state knew a database that was since
// restored from a backup.
func (s *Store) Changes(ctx context.Context, since int64) (changes access.Changes, err error) {
	err = s.db.Read(ctx, func(tx Tx) error {
		var floor int64
		changes = access.Changes{}
		_, err := one(tx, "SELECT state, floor FROM access_state", func(row Row) error { return row.Scan(&changes.State, &floor) })
		if err != nil || changes.State == since {
			return err
		}
		if changes.All = since < floor || since > changes.State; changes.All {
			changes.Keys, changes.Workspaces, err = withWorkspaces(tx, "k.revoked_at IS NULL AND k.id IN (SELECT key_id FROM bans WHERE ends_at > $1)", s.now().UnixMilli())
			return err
		}
		if changes.Keys, err = inOrder(tx, "k.state > $1", since); err != nil {
			return err
		}
		changes.Workspaces, err = workspaces(tx, "id IN (SELECT id FROM workspaces WHERE state > $1 UNION ALL SELECT workspace FROM api_keys WHERE state > $1)", since)
		return err
	})
	return changes, err
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
			list, args := among(values)
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

// among returns the condition that a column has one of the values, and its arguments.
// There are few different lengths, since each statement is kept prepared.
func among(values []any) (condition string, args []any) {
	n := 1
	for n < len(values) {
		n *= 2
	}
	var b strings.Builder
	for i := range n {
		b.WriteString(", $" + strconv.Itoa(i+1))
		args = append(args, values[min(i, len(values)-1)])
	}
	return " IN (" + b.String()[2:] + ")", args
}

// withWorkspaces returns the keys that a condition selects, in no order, and their
// workspaces.
func withWorkspaces(tx Tx, where string, args ...any) ([]access.Key, []access.Workspace, error) {
	keys, err := inOrder(tx, where, args...)
	if err != nil || len(keys) == 0 {
		return nil, nil, err
	}
	all, err := workspaces(tx, "id IN (SELECT k.workspace FROM api_keys k LEFT JOIN bans b ON b.key_id = k.id WHERE "+where+")", args...)
	return keys, all, err
}
