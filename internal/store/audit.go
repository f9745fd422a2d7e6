package store

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"math"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
)

// audit adds an entry about a workspace, or about none if that is 0, to the audit log.
func (s *Store) audit(tx Tx, workspace int64, by access.Actor, action, subject, detail string) error {
	return exec(tx, "INSERT INTO audit (workspace, at, actor, action, subject, detail) VALUES ($1, $2, $3, $4, $5, $6)",
		workspace, s.now().UnixMilli(), string(by), action, subject, detail)
}

func scanEntry(row Row, e *access.AuditEntry) error {
	return scan(row, &e.ID, &e.Workspace, &e.At, (*string)(&e.Actor), &e.Action, &e.Subject, &e.Detail)
}

// AuditPage implements [access.Store].
func (s *Store) AuditPage(ctx context.Context, workspace, before int64, limit int) ([]access.AuditEntry, error) {
	q := &statement{}
	where := "id < " + q.arg(cmp.Or(before, math.MaxInt64))
	if workspace != 0 {
		where += " AND workspace = " + q.arg(workspace)
	}
	return readRows(ctx, s, scanEntry, "SELECT id, workspace, at, actor, action, subject, detail FROM audit WHERE "+where+" ORDER BY id DESC LIMIT "+q.arg(max(limit, 0)), q.args...)
}

// Note implements [access.Store].
func (s *Store) Note(ctx context.Context, e access.AuditEntry) error {
	return s.db.Change(ctx, func(tx Tx) error { return s.audit(tx, e.Workspace, e.Actor, e.Action, e.Subject, e.Detail) })
}

// UseLink implements [access.Store].
// A link that was used is a receipt, which is removed some time after the link has ended.
func (s *Store) UseLink(ctx context.Context, l access.Link, e access.AuditEntry) (first bool, err error) {
	return result(ctx, s.db.Change, func(tx Tx) (bool, error) {
		used := &petstore.Idempotency{Operation: "link", Key: hex.EncodeToString(l.Hash[:])}
		_, before, err := once(tx, 0, used, petstore.At(l.Until), func() ([]byte, error) {
			return nil, s.audit(tx, e.Workspace, e.Actor, e.Action, e.Subject, e.Detail)
		})
		return !before, err
	})
}

// Secret implements [access.Store].
func (s *Store) Secret(ctx context.Context) ([]byte, error) {
	secret, err := read(ctx, s, func(tx Tx) ([]byte, error) { return MetaOf(tx, "secret") })
	if err == nil && secret == nil {
		err = fmt.Errorf("%w: it has lost its secret", ErrDamaged)
	}
	return secret, err
}

// CreateSecret gives a new database its secret.
func CreateSecret(tx Tx) error {
	secret := make([]byte, 32)
	rand.Read(secret) // never fails
	return SetMeta(tx, "secret", secret)
}

// SetMeta keeps a value in the table meta under a name.
func SetMeta(tx Tx, name string, value []byte) error {
	return exec(tx, "INSERT INTO meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value", name, value)
}

// MetaOf returns the value that the table meta has under a name, or nil.
func MetaOf(tx Tx, name string) (value []byte, err error) {
	_, err = First(tx, "SELECT value FROM meta WHERE name = $1", func(row Row) error { return row.Scan(&value) }, name)
	return value, err
}
