package store

import (
	"context"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
)

// StartSession implements [access.Store].
func (s *Store) StartSession(ctx context.Context, one access.Session) error {
	return s.db.Change(ctx, func(tx Tx) error {
		if err := exec(tx, "DELETE FROM console_sessions WHERE ends_at <= $1", s.now().UnixMilli()); err != nil {
			return err
		}
		err := exec(tx, "INSERT INTO console_sessions (hash, key_id, started_at, ends_at) VALUES ($1, $2, $3, $4)",
			one.Hash[:], one.KeyID, one.Started.UnixMilli(), one.Until.UnixMilli())
		if err != nil {
			return err
		}
		return exec(tx, `DELETE FROM console_sessions WHERE key_id = $1 AND hash NOT IN
			(SELECT hash FROM console_sessions WHERE key_id = $1 ORDER BY started_at DESC, hash LIMIT $2)`, one.KeyID, int64(access.MaxSessions))
	})
}

// Session implements [access.Store].
func (s *Store) Session(ctx context.Context, hash [32]byte) (found access.Session, err error) {
	err = s.db.Read(ctx, func(tx Tx) error {
		found = access.Session{Hash: hash}
		is, err := one(tx, "SELECT key_id, started_at, ends_at FROM console_sessions WHERE hash = $1 AND ends_at > $2", func(row Row) error {
			var started, until int64
			err := row.Scan(&found.KeyID, &started, &until)
			found.Started, found.Until = instant(started), instant(until)
			return err
		}, hash[:], s.now().UnixMilli())
		if err == nil && !is {
			err = petstore.Errorf(access.CodeSessionNotFound, "There is no such session.")
		}
		return err
	})
	return found, err
}

// EndSession implements [access.Store].
func (s *Store) EndSession(ctx context.Context, hash [32]byte) error {
	return s.db.Change(ctx, func(tx Tx) error { return exec(tx, "DELETE FROM console_sessions WHERE hash = $1", hash[:]) })
}

// EndSessions implements [access.Store].
func (s *Store) EndSessions(ctx context.Context, keyID string) error {
	return s.db.Change(ctx, func(tx Tx) error { return exec(tx, "DELETE FROM console_sessions WHERE key_id = $1", keyID) })
}
