package store

import (
	"context"
	"fmt"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
)

// tokens returns the tokens of operators that a condition selects.
func tokens(tx Tx, where string, args ...any) ([]access.Token, error) {
	all := []access.Token{}
	err := each(tx, "SELECT id, name, prefix, hash, created_at, expires_at, coalesce(revoked_at, 0) FROM operator_tokens WHERE "+where, func(row Row) error {
		var (
			t                         access.Token
			hash                      []byte
			created, expires, revoked int64
		)
		err := row.Scan(&t.ID, &t.Name, &t.Prefix, &hash, &created, &expires, &revoked)
		copy(t.Hash[:], hash)
		t.CreatedAt, t.ExpiresAt, t.RevokedAt = instant(created), instant(expires), instant(revoked)
		all = append(all, t)
		return err
	}, args...)
	return all, err
}

// token returns the token that a condition selects, or CodeTokenNotFound.
func token(tx Tx, where string, arg any) (access.Token, error) {
	found, err := tokens(tx, where, arg)
	if err == nil && len(found) == 0 {
		err = petstore.Errorf(access.CodeTokenNotFound, "There is no such token.")
	}
	if err != nil {
		return access.Token{}, err
	}
	return found[0], nil
}

// AddToken implements [access.Store].
func (s *Store) AddToken(ctx context.Context, t access.Token, by access.Actor) error {
	return s.db.Change(ctx, func(tx Tx) error {
		if err := exec(tx, "INSERT INTO operator_tokens (id, name, prefix, hash, created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6)",
			t.ID, t.Name, t.Prefix, t.Hash[:], t.CreatedAt.UnixMilli(), t.ExpiresAt.UnixMilli()); err != nil {
			return err
		}
		return s.audit(tx, by, "token.create", t.ID, fmt.Sprintf("%q, expires %s", t.Name, t.ExpiresAt.UTC().Format(time.RFC3339)))
	})
}

// Tokens implements [access.Store].
func (s *Store) Tokens(ctx context.Context) ([]access.Token, error) {
	return read(ctx, s, func(tx Tx) ([]access.Token, error) { return tokens(tx, "true ORDER BY created_at, id") })
}

// TokenOf implements [access.Store].
func (s *Store) TokenOf(ctx context.Context, h access.Hash) (access.Token, error) {
	return read(ctx, s, func(tx Tx) (access.Token, error) { return token(tx, "hash = $1", h[:]) })
}

// RevokeToken implements [access.Store].
func (s *Store) RevokeToken(ctx context.Context, id string, at time.Time, by access.Actor) (t access.Token, err error) {
	if !storable(id) {
		return t, petstore.Errorf(access.CodeTokenNotFound, "There is no such token.")
	}
	err = s.db.Change(ctx, func(tx Tx) error {
		if t, err = token(tx, "id = $1", id); err != nil || !t.RevokedAt.IsZero() {
			return err
		}
		if err := exec(tx, "UPDATE operator_tokens SET revoked_at = $1 WHERE id = $2", at.UnixMilli(), id); err != nil {
			return err
		}
		t.RevokedAt = instant(at.UnixMilli())
		return s.audit(tx, by, "token.revoke", id, fmt.Sprintf("%q", t.Name))
	})
	return t, err
}
