package store

import (
	"context"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
)

// StartSession implements [access.Store].
func (s *Store) StartSession(ctx context.Context, one access.Session) error {
	var b Batch
	b.Exec("DELETE FROM console_sessions WHERE ends_at <= $1", s.now().UnixMilli())
	b.Exec("INSERT INTO console_sessions (hash, key_id, started_at, ends_at) VALUES ($1, $2, $3, $4)",
		one.Hash[:], one.KeyID, one.Started.UnixMilli(), one.Until.UnixMilli())
	b.Exec(`DELETE FROM console_sessions WHERE key_id = $1 AND hash NOT IN
		(SELECT hash FROM console_sessions WHERE key_id = $1 ORDER BY started_at DESC, hash LIMIT $2)`, one.KeyID, access.MaxSessions)
	return s.db.Change(ctx, func(tx Tx) error { return tx.Run(&b) })
}

func scanSession(row Row, s *access.Session) error {
	return scan(row, &s.Hash, &s.KeyID, &s.Started, &s.Until)
}

// Session implements [access.Store].
func (s *Store) Session(ctx context.Context, hash [32]byte) (access.Session, error) {
	return read(ctx, s, func(tx Tx) (access.Session, error) {
		return rowOf(tx, petstore.Errorf(access.CodeSessionNotFound, "There is no such session."), scanSession,
			"SELECT hash, key_id, started_at, ends_at FROM console_sessions WHERE hash = $1 AND ends_at > $2", hash[:], s.now().UnixMilli())
	})
}

// EndSession implements [access.Store].
func (s *Store) EndSession(ctx context.Context, hash [32]byte) error {
	return s.db.Change(ctx, func(tx Tx) error { return exec(tx, "DELETE FROM console_sessions WHERE hash = $1", hash[:]) })
}

// EndSessions implements [access.Store].
func (s *Store) EndSessions(ctx context.Context, keyID string) error {
	return s.db.Change(ctx, func(tx Tx) error { return exec(tx, "DELETE FROM console_sessions WHERE key_id = $1", keyID) })
}
