package store

import (
	"context"
	"fmt"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
)

const selectKeys = `SELECT k.id, k.workspace, k.name, k.prefix, k.hash, k.scopes, k.created_at, k.expires_at, k.revoked_at, k.rotated_to,
	k.banned_at, k.banned_until, k.ban_level, k.ban_reason, k.banned_by FROM api_keys k WHERE `

func scanKey(row Row, k *access.Key) error {
	var (
		scopes int64
		ban    access.Ban
	)
	err := scan(row, &k.ID, &k.WorkspaceID, &k.Name, &k.Prefix, (*[32]byte)(&k.Hash), &scopes, &k.CreatedAt, &k.ExpiresAt, &k.RevokedAt, &k.RotatedTo,
		&ban.From, &ban.Until, &ban.Level, &ban.Reason, &ban.By)
	k.Scopes = access.Scopes(scopes) //nolint:gosec // written by saveKey
	if !ban.Until.IsZero() {
		ban.KeyID, k.Ban = k.ID, &ban
	}
	return err
}

// keysWhere returns the keys that a condition selects. The condition may end with an
// ORDER BY.
func keysWhere(tx Tx, where string, args ...any) ([]access.Key, error) {
	return RowsOf(tx, scanKey, selectKeys+where, args...)
}

// key returns the key with the id or CodeKeyNotFound.
func key(tx Tx, id string) (access.Key, error) {
	return rowOf(tx, access.NoKey(id), scanKey, selectKeys+"k.id = $1", id)
}

// saveChanged stores a key that was changed, and adds an entry to the audit log.
func (s *Store) saveChanged(tx Tx, k access.Key, by access.Actor, action, detail string) error {
	if err := saveKey(tx, k); err != nil {
		return err
	}
	if err := changed(tx); err != nil {
		return err
	}
	return s.audit(tx, k.WorkspaceID, by, action, k.ID, detail)
}

// saveKey adds a key, or stores what may change of it.
func saveKey(tx Tx, k access.Key) error {
	var ban access.Ban
	if k.Ban != nil {
		ban = *k.Ban
	}
	return exec(tx, `INSERT INTO api_keys (id, workspace, name, prefix, hash, scopes, created_at, expires_at, revoked_at, rotated_to,
			banned_at, banned_until, ban_level, ban_reason, banned_by)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
		ON CONFLICT (id) DO UPDATE SET name = excluded.name, expires_at = excluded.expires_at, revoked_at = excluded.revoked_at, rotated_to = excluded.rotated_to,
			banned_at = excluded.banned_at, banned_until = excluded.banned_until, ban_level = excluded.ban_level, ban_reason = excluded.ban_reason, banned_by = excluded.banned_by`,
		k.ID, k.WorkspaceID, k.Name, k.Prefix, k.Hash[:], int64(k.Scopes), k.CreatedAt.UnixMilli(), millis(k.ExpiresAt), millis(k.RevokedAt), k.RotatedTo,
		millis(ban.From), millis(ban.Until), int64(ban.Level), ban.Reason, ban.By)
}

// MakeKey implements [access.Store]. A key without a time of creation gets the
// present one.
func (s *Store) MakeKey(ctx context.Context, m access.KeyRequest) (access.CreatedKey, error) {
	if m.Key.CreatedAt.IsZero() {
		m.Key.CreatedAt = s.now()
	}
	return result(ctx, s.db.Change, func(tx Tx) (made access.CreatedKey, err error) {
		caller, err := s.actingKey(tx, m.Caller)
		if err != nil {
			return made, err
		}
		made.Body, made.Replayed, err = once(tx, -m.Key.WorkspaceID, m.Once, petstore.At(s.now()), func() (_ []byte, err error) {
			made.Key, err = s.makeKey(tx, m, caller)
			return petstore.JSON(made.Key.View(s.now())), err
		})
		return made, err
	})
}

// actingKey returns the key with the id, as it is in the transaction, or the error of
// [access.Key.CheckValid]. It returns nil for "", which is the operator.
func (s *Store) actingKey(tx Tx, id string) (*access.Key, error) {
	if id == "" {
		return nil, nil //nolint:nilnil // the operator has no key
	}
	k, err := key(tx, id)
	if petstore.CodeOf(err) == access.CodeKeyNotFound { // it was deleted with its workspace
		k.RevokedAt, err = s.now(), nil
	}
	if err != nil {
		return nil, err
	}
	return &k, k.CheckValid(s.now())
}

func (s *Store) makeKey(tx Tx, m access.KeyRequest, caller *access.Key) (access.Key, error) {
	if m.Replaces != "" {
		return s.rotate(tx, m, caller)
	}
	if m.May != nil {
		if err := m.May(caller, nil); err != nil {
			return access.Key{}, err
		}
	}
	if err := HasWorkspace(tx, m.Key.WorkspaceID); err != nil {
		return access.Key{}, err
	}
	if err := s.insertBounded(tx, m.Key); err != nil {
		return access.Key{}, err
	}
	detail := fmt.Sprintf("%q for workspace %d, scopes %s, %s", m.Key.Name, m.Key.WorkspaceID, m.Key.Scopes, ends(m.Key))
	return m.Key, s.audit(tx, m.Key.WorkspaceID, m.By, "key.create", m.Key.ID, detail)
}

// insertBounded adds a key unless the workspace then has too many that are live,
// and revokes what expired long ago.
func (s *Store) insertBounded(tx Tx, k access.Key) error {
	if err := saveKey(tx, k); err != nil {
		return err
	}
	live, err := number(tx, "SELECT count(*) FROM api_keys WHERE workspace = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)",
		k.WorkspaceID, s.now().UnixMilli())
	if err == nil && live > access.MaxKeys {
		err = petstore.Errorf(access.CodeTooManyKeys, "The workspace has %d live keys, and can have no more. Revoke one first.", access.MaxKeys)
	}
	if err != nil {
		return err
	}
	return s.revokeExpired(tx, k.WorkspaceID)
}

// revokeExpired revokes the keys that expired first, so that a workspace has few that are
// not revoked: these are listed, and counted when a key is made.
func (s *Store) revokeExpired(tx Tx, workspace int64) error {
	old, err := keysWhere(tx, `k.id IN (SELECT id FROM api_keys WHERE workspace = $1 AND revoked_at IS NULL AND expires_at <= $2
		ORDER BY expires_at DESC, id LIMIT 1000 OFFSET $3) ORDER BY k.created_at, k.id`, workspace, s.now().UnixMilli(), access.MaxKeys)
	if err != nil {
		return err
	}
	for _, k := range old {
		k.RevokedAt = s.now()
		detail := fmt.Sprintf("%q expired, and more than %d of workspace %d have since", k.Name, access.MaxKeys, workspace)
		if err := s.saveChanged(tx, k, "limit", "key.revoke", detail); err != nil {
			return err
		}
	}
	return nil
}

// KeyPage implements [access.Store].
func (s *Store) KeyPage(ctx context.Context, workspace int64, p access.KeyPage) ([]access.Key, error) {
	q, beyond, order := &statement{}, ">", " ORDER BY k.created_at, k.id"
	where := "k.workspace = " + q.arg(workspace)
	if p.Unrevoked {
		where += " AND k.revoked_at IS NULL"
	}
	if p.Newest {
		beyond, order = "<", " ORDER BY k.created_at DESC, k.id DESC"
	}
	if p.After != "" {
		where += " AND (k.created_at, k.id) " + beyond + " (SELECT created_at, id FROM api_keys WHERE workspace = $1 AND id = " + q.arg(p.After) + ")"
	}
	return readRows(ctx, s, scanKey, selectKeys+where+order+" LIMIT "+q.arg(max(p.Limit, 0)), q.args...)
}

// Key implements [access.Store].
func (s *Store) Key(ctx context.Context, id string) (access.Key, error) {
	return read(ctx, s, func(tx Tx) (access.Key, error) { return key(tx, id) })
}

func (s *Store) rotate(tx Tx, m access.KeyRequest, caller *access.Key) (access.Key, error) {
	old, err := key(tx, m.Replaces)
	if err != nil {
		return old, err
	}
	if m.May != nil {
		if err := m.May(caller, &old); err != nil {
			return old, err
		}
	}
	if err := old.CheckRotation(s.now()); err != nil {
		return old, err
	}
	next := m.Key
	next.WorkspaceID, next.Name, next.Scopes, next.ExpiresAt = old.WorkspaceID, old.Name, old.Scopes, old.ExpiresAt
	if next.Ban = old.Clone().Ban; next.Ban != nil {
		next.Ban.KeyID = next.ID
	}
	old.RotatedTo = next.ID
	if old.ExpiresAt.IsZero() || m.Until.Before(old.ExpiresAt) {
		old.ExpiresAt = m.Until
	}
	detail := fmt.Sprintf("replaced by %s, valid until %s", next.ID, old.ExpiresAt.UTC().Format(time.RFC3339))
	if err := s.saveChanged(tx, old, m.By, "key.rotate", detail); err != nil {
		return old, err
	}
	return next, s.insertBounded(tx, next)
}

// UpdateKey implements [access.Store].
func (s *Store) UpdateKey(ctx context.Context, id string, by access.Actor, caller string, edit func(caller, k *access.Key) error) (access.Key, error) {
	return result(ctx, s.db.Change, func(tx Tx) (before access.Key, err error) {
		caller, err := s.actingKey(tx, caller)
		if err != nil {
			return before, err
		}
		if before, err = key(tx, id); err != nil {
			return before, err
		}
		after := before.Clone()
		if err := edit(caller, &after); err != nil {
			return before, err
		}
		action, detail := difference(before, after)
		if action == "" {
			return before, nil
		}
		if err := s.saveChanged(tx, after, by, action, detail); err != nil {
			return before, err
		}
		return key(tx, id)
	})
}

// difference returns the action and the detail for the audit log of a change of a key;
// the action is "" if nothing changed.
func difference(before, after access.Key) (action, detail string) {
	switch {
	case before.Ban != nil && after.Ban == nil:
		return "ban.lift", "would have run until " + before.Ban.Until.UTC().Format(time.RFC3339)
	case after.Ban != nil && (before.Ban == nil || *before.Ban != *after.Ban):
		return "ban.set", fmt.Sprintf("until %s: %s", after.Ban.Until.UTC().Format(time.RFC3339), after.Ban.Reason)
	case before.RevokedAt.IsZero() && !after.RevokedAt.IsZero():
		return "key.revoke", fmt.Sprintf("%q of workspace %d", before.Name, before.WorkspaceID)
	case before.Name == after.Name && before.ExpiresAt.Equal(after.ExpiresAt):
		return "", ""
	}
	return "key.update", fmt.Sprintf("%q was %q, %s was %s", after.Name, before.Name, ends(after), ends(before))
}

// ends returns in words until when a key is valid.
func ends(k access.Key) string {
	if k.ExpiresAt.IsZero() {
		return "never expires"
	}
	return "expires " + k.ExpiresAt.UTC().Format(time.RFC3339)
}
