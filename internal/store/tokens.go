package store

import (
	"context"
	"fmt"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
)

const selectTokens = "SELECT id, name, prefix, hash, created_at, expires_at, revoked_at FROM operator_tokens WHERE " //nolint:gosec // no credential

func scanToken(row Row, t *access.Token) error {
	return scan(row, &t.ID, &t.Name, &t.Prefix, (*[32]byte)(&t.Hash), &t.CreatedAt, &t.ExpiresAt, &t.RevokedAt)
}

func noToken() error { return petstore.Errorf(access.CodeTokenNotFound, "There is no such token.") }

// AddToken implements [access.Store].
func (s *Store) AddToken(ctx context.Context, t access.Token, by access.Actor) error {
	return s.db.Change(ctx, func(tx Tx) error {
		if err := exec(tx, "INSERT INTO operator_tokens (id, name, prefix, hash, created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6)",
			t.ID, t.Name, t.Prefix, t.Hash[:], t.CreatedAt.UnixMilli(), t.ExpiresAt.UnixMilli()); err != nil {
			return err
		}
		return s.audit(tx, 0, by, "token.create", t.ID, fmt.Sprintf("%q, expires %s", t.Name, t.ExpiresAt.UTC().Format(time.RFC3339)))
	})
}

// Tokens implements [access.Store].
func (s *Store) Tokens(ctx context.Context) ([]access.Token, error) {
	return readRows(ctx, s, scanToken, selectTokens+"true ORDER BY created_at, id")
}

// TokenOf implements [access.Store].
func (s *Store) TokenOf(ctx context.Context, h access.Hash) (access.Token, error) {
	return read(ctx, s, func(tx Tx) (access.Token, error) {
		return rowOf(tx, noToken(), scanToken, selectTokens+"hash = $1", h[:])
	})
}

// RevokeToken implements [access.Store].
func (s *Store) RevokeToken(ctx context.Context, id string, at time.Time, by access.Actor) (access.Token, error) {
	return result(ctx, s.db.Change, func(tx Tx) (access.Token, error) {
		t, err := rowOf(tx, noToken(), scanToken, selectTokens+"id = $1", id)
		if err != nil || !t.RevokedAt.IsZero() {
			return t, err
		}
		if err := exec(tx, "UPDATE operator_tokens SET revoked_at = $1 WHERE id = $2", at.UnixMilli(), id); err != nil {
			return t, err
		}
		t.RevokedAt = instant(at.UnixMilli())
		return t, s.audit(tx, 0, by, "token.revoke", id, fmt.Sprintf("%q", t.Name))
	})
}
