package sqlite

import (
	"context"
	"fmt"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"zombiezen.com/go/sqlite"
)

const selectKeys = `SELECT k.id, k.workspace, k.name, k.prefix, k.hash, k.scopes, k.created_at, k.expires_at, k.revoked_at,
	k.rotated_to, b.begins_at, b.ends_at, b.level, b.reason, b.imposed_by
	FROM api_keys k LEFT JOIN bans b ON b.key_id = k.id`

func scanKey(row *sqlite.Stmt) access.Key {
	k := access.Key{
		ID: row.ColumnText(0), WorkspaceID: row.ColumnInt64(1), Name: row.ColumnText(2), Prefix: row.ColumnText(3),
		Scopes: access.Scopes(row.ColumnInt64(5)), CreatedAt: instant(row, 6), ExpiresAt: instant(row, 7),
		RevokedAt: instant(row, 8), RotatedTo: row.ColumnText(9),
	}
	row.ColumnBytes(4, k.Hash[:])
	if !row.ColumnIsNull(10) {
		k.Ban = &access.Ban{
			KeyID: k.ID, From: instant(row, 10), Until: instant(row, 11),
			Level: row.ColumnInt(12), Reason: row.ColumnText(13), By: row.ColumnText(14),
		}
	}
	return k
}

// keys returns the keys that a condition selects, as Sorted.
func (c *conn) keys(where string, args ...any) ([]access.Key, error) {
	keys := []access.Key{}
	err := c.each(selectKeys+" WHERE "+where, func(row *sqlite.Stmt) { keys = append(keys, scanKey(row)) }, args...)
	return access.Sorted(keys), err
}

// key returns the key with the id or CodeKeyNotFound.
func (c *conn) key(id string) (k access.Key, err error) {
	found, err := c.one(selectKeys+" WHERE k.id=?", func(row *sqlite.Stmt) { k = scanKey(row) }, id)
	if err == nil && !found {
		err = petstore.Errorf(access.CodeKeyNotFound, "There is no key with the id %q.", id)
	}
	return k, err
}

// touchKey stamps a key whose row or ban changed.
func (c *conn) touchKey(id string) error {
	state, err := c.nextState()
	if err != nil {
		return err
	}
	return c.exec("UPDATE api_keys SET state=? WHERE id=?", state, id)
}

func (c *conn) insertKey(k access.Key) error {
	state, err := c.nextState()
	if err != nil {
		return err
	}
	return c.exec(`INSERT INTO api_keys (id, workspace, name, prefix, hash, scopes, created_at, expires_at, revoked_at, rotated_to, state)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, k.ID, k.WorkspaceID, k.Name, k.Prefix, k.Hash[:], int64(k.Scopes),
		k.CreatedAt.UnixMilli(), millis(k.ExpiresAt), millis(k.RevokedAt), k.RotatedTo, state)
}

// CreateKey implements [access.Store]. A key without a creation's instant gets
// the present one.
func (db *DB) CreateKey(ctx context.Context, k access.Key, by access.Actor) error {
	if k.CreatedAt.IsZero() {
		k.CreatedAt = db.now()
	}
	return db.change(ctx, func(c *conn) error {
		if err := c.hasWorkspace(k.WorkspaceID); err != nil {
			return err
		}
		if err := c.insertKey(k); err != nil {
			return err
		}
		return db.audit(c, by, "key.create", k.ID, keyDetail(k))
	})
}

func keyDetail(k access.Key) string {
	detail := fmt.Sprintf("%q for workspace %d, scopes %s", k.Name, k.WorkspaceID, k.Scopes)
	if !k.ExpiresAt.IsZero() {
		detail += ", expires " + k.ExpiresAt.UTC().Format(time.RFC3339)
	}
	return detail
}

// Keys implements [access.Store].
func (db *DB) Keys(ctx context.Context, workspace int64) (keys []access.Key, err error) {
	err = db.read(ctx, func(c *conn) (err error) {
		if err := c.hasWorkspace(workspace); err != nil {
			return err
		}
		keys, err = c.keys("k.workspace=?", workspace)
		return err
	})
	return keys, err
}

// Key implements [access.Store].
func (db *DB) Key(ctx context.Context, id string) (k access.Key, err error) {
	err = db.read(ctx, func(c *conn) (err error) {
		k, err = c.key(id)
		return err
	})
	return k, err
}

// RotateKey implements [access.Store].
func (db *DB) RotateKey(ctx context.Context, id string, next access.Key, until time.Time, by access.Actor) (made access.Key, err error) {
	err = db.change(ctx, func(c *conn) (err error) {
		made, err = db.rotate(c, id, next, until, by)
		return err
	})
	if err != nil {
		return access.Key{}, err
	}
	return made, nil
}

func (db *DB) rotate(c *conn, id string, next access.Key, until time.Time, by access.Actor) (access.Key, error) {
	old, err := c.key(id)
	if err != nil {
		return old, err
	}
	if err := old.CheckRotation(db.now()); err != nil {
		return old, err
	}
	next.WorkspaceID, next.Name, next.Scopes, next.ExpiresAt = old.WorkspaceID, old.Name, old.Scopes, old.ExpiresAt
	if next.CreatedAt.IsZero() {
		next.CreatedAt = db.now()
	}
	if err := c.insertKey(next); err != nil {
		return old, err
	}
	if old.ExpiresAt.IsZero() || until.Before(old.ExpiresAt) {
		old.ExpiresAt = until
	}
	if err := c.exec("UPDATE api_keys SET expires_at=?, rotated_to=? WHERE id=?", millis(old.ExpiresAt), next.ID, id); err != nil {
		return old, err
	}
	if err := c.touchKey(id); err != nil {
		return old, err
	}
	detail := fmt.Sprintf("replaced by %s, valid until %s", next.ID, old.ExpiresAt.UTC().Format(time.RFC3339))
	if err := db.audit(c, by, "key.rotate", id, detail); err != nil {
		return old, err
	}
	return c.key(next.ID)
}

// RevokeKey implements [access.Store].
func (db *DB) RevokeKey(ctx context.Context, id string, at time.Time, by access.Actor) error {
	return db.change(ctx, func(c *conn) error {
		k, err := c.key(id)
		if err != nil || !k.RevokedAt.IsZero() {
			return err
		}
		if err := c.exec("UPDATE api_keys SET revoked_at=? WHERE id=?", at.UnixMilli(), id); err != nil {
			return err
		}
		if err := c.touchKey(id); err != nil {
			return err
		}
		return db.audit(c, by, "key.revoke", id, fmt.Sprintf("%q of workspace %d", k.Name, k.WorkspaceID))
	})
}

// SetBan implements [access.Store].
func (db *DB) SetBan(ctx context.Context, b access.Ban, by access.Actor) error {
	return db.change(ctx, func(c *conn) error {
		if _, err := c.key(b.KeyID); err != nil {
			return err
		}
		if err := c.exec("INSERT OR REPLACE INTO bans (key_id, begins_at, ends_at, level, reason, imposed_by) VALUES (?, ?, ?, ?, ?, ?)",
			b.KeyID, b.From.UnixMilli(), b.Until.UnixMilli(), b.Level, b.Reason, b.By); err != nil {
			return err
		}
		if err := c.touchKey(b.KeyID); err != nil {
			return err
		}
		return db.audit(c, by, "ban.set", b.KeyID, fmt.Sprintf("until %s: %s", b.Until.UTC().Format(time.RFC3339), b.Reason))
	})
}

// LiftBan implements [access.Store]. A key without a ban is left as it is.
func (db *DB) LiftBan(ctx context.Context, keyID string, by access.Actor) error {
	return db.change(ctx, func(c *conn) error {
		k, err := c.key(keyID)
		if err != nil || k.Ban == nil {
			return err
		}
		if err := c.exec("DELETE FROM bans WHERE key_id=?", keyID); err != nil {
			return err
		}
		if err := c.touchKey(keyID); err != nil {
			return err
		}
		return db.audit(c, by, "ban.lift", keyID, "would have run until "+k.Ban.Until.UTC().Format(time.RFC3339))
	})
}
