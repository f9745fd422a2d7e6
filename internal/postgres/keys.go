package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"github.com/jackc/pgx/v5"
)

const selectKeys = `SELECT k.id, k.workspace, k.name, k.prefix, k.hash, k.scopes, k.created_at, k.expires_at, k.revoked_at,
	k.rotated_to, b.begins_at, b.ends_at, b.level, b.reason, b.imposed_by
	FROM api_keys k LEFT JOIN bans b ON b.key_id = k.id`

func scanKey(row pgx.Row, k *access.Key) error {
	var (
		hash                                   []byte
		scopes                                 int16
		created, expires, revoked, begins, end *int64
		level                                  *int64
		reason, by                             *string
	)
	err := row.Scan(&k.ID, &k.WorkspaceID, &k.Name, &k.Prefix, &hash, &scopes, &created, &expires, &revoked,
		&k.RotatedTo, &begins, &end, &level, &reason, &by)
	if err != nil {
		return err
	}
	copy(k.Hash[:], hash)
	k.Scopes = access.Scopes(scopes)
	k.CreatedAt, k.ExpiresAt, k.RevokedAt = instantOf(created), instantOf(expires), instantOf(revoked)
	if begins != nil {
		k.Ban = &access.Ban{KeyID: k.ID, From: instantOf(begins), Until: instantOf(end), Level: int(*level), Reason: *reason, By: *by}
	}
	return nil
}

// keysWhere returns the keys that a condition selects, as Sorted.
func keysWhere(ctx context.Context, c querier, where string, args ...any) ([]access.Key, error) {
	keys, err := collect(ctx, c, scanKey, selectKeys+" WHERE "+where, args...)
	return access.Sorted(keys), err
}

// key returns the key with the id or CodeKeyNotFound.
func key(ctx context.Context, c querier, id string) (k access.Key, err error) {
	err = pgx.ErrNoRows
	if storable(id) {
		err = scanKey(c.QueryRow(ctx, selectKeys+" WHERE k.id = $1", id), &k)
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return k, petstore.Errorf(access.CodeKeyNotFound, "There is no key with the id %q.", id)
	}
	return k, err
}

// lockKey returns the key for a change of it.
func (x *txn) lockKey(id string) (access.Key, error) {
	if err := x.lockAccess(); err != nil {
		return access.Key{}, err
	}
	return key(x.ctx, x, id)
}

// touchKey stamps a key whose row or ban changed.
func (x *txn) touchKey(id string) error {
	state, err := x.nextState()
	if err != nil {
		return err
	}
	return x.exec("UPDATE api_keys SET state = $1 WHERE id = $2", state, id)
}

func (x *txn) insertKey(k access.Key) error {
	state, err := x.nextState()
	if err != nil {
		return err
	}
	return x.exec(`INSERT INTO api_keys (id, workspace, name, prefix, hash, scopes, created_at, expires_at, revoked_at, rotated_to, state)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`, k.ID, k.WorkspaceID, k.Name, k.Prefix, k.Hash[:], int16(k.Scopes),
		k.CreatedAt.UnixMilli(), millis(k.ExpiresAt), millis(k.RevokedAt), k.RotatedTo, state)
}

// CreateKey implements [access.Store]. A key without a creation's instant gets
// the present one.
func (db *DB) CreateKey(ctx context.Context, k access.Key, by access.Actor) error {
	if k.CreatedAt.IsZero() {
		k.CreatedAt = db.now()
	}
	return db.change(ctx, func(x *txn) error {
		if err := x.lockAccess(); err != nil {
			return err
		}
		if err := hasWorkspace(ctx, x, k.WorkspaceID); err != nil {
			return err
		}
		if err := x.insertKey(k); err != nil {
			return err
		}
		return x.audit(by, "key.create", k.ID, keyDetail(k))
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
	err = db.readAccess(ctx, func(c querier) error {
		keys, err = keysWhere(ctx, c, "k.workspace = $1", workspace)
		if err == nil && len(keys) == 0 {
			err = hasWorkspace(ctx, c, workspace)
		}
		return err
	})
	return keys, err
}

// Key implements [access.Store].
func (db *DB) Key(ctx context.Context, id string) (k access.Key, err error) {
	err = db.readAccess(ctx, func(c querier) error {
		k, err = key(ctx, c, id)
		return err
	})
	return k, err
}

// RotateKey implements [access.Store].
func (db *DB) RotateKey(ctx context.Context, id string, next access.Key, until time.Time, by access.Actor) (made access.Key, err error) {
	err = db.change(ctx, func(x *txn) error {
		made, err = x.rotate(id, next, until, by)
		return err
	})
	if err != nil {
		return access.Key{}, err
	}
	return made, nil
}

func (x *txn) rotate(id string, next access.Key, until time.Time, by access.Actor) (access.Key, error) {
	old, err := x.lockKey(id)
	if err != nil {
		return old, err
	}
	if err := old.CheckRotation(x.now); err != nil {
		return old, err
	}
	next.WorkspaceID, next.Name, next.Scopes, next.ExpiresAt = old.WorkspaceID, old.Name, old.Scopes, old.ExpiresAt
	if next.CreatedAt.IsZero() {
		next.CreatedAt = x.now
	}
	if err := x.insertKey(next); err != nil {
		return old, err
	}
	if old.ExpiresAt.IsZero() || until.Before(old.ExpiresAt) {
		old.ExpiresAt = until
	}
	if err := x.exec("UPDATE api_keys SET expires_at = $1, rotated_to = $2 WHERE id = $3", millis(old.ExpiresAt), next.ID, id); err != nil {
		return old, err
	}
	if err := x.touchKey(id); err != nil {
		return old, err
	}
	detail := fmt.Sprintf("replaced by %s, valid until %s", next.ID, old.ExpiresAt.UTC().Format(time.RFC3339))
	if err := x.audit(by, "key.rotate", id, detail); err != nil {
		return old, err
	}
	return key(x.ctx, x, next.ID)
}

// RevokeKey implements [access.Store].
func (db *DB) RevokeKey(ctx context.Context, id string, at time.Time, by access.Actor) error {
	return db.change(ctx, func(x *txn) error {
		k, err := x.lockKey(id)
		if err != nil || !k.RevokedAt.IsZero() {
			return err
		}
		if err := x.exec("UPDATE api_keys SET revoked_at = $1 WHERE id = $2", at.UnixMilli(), id); err != nil {
			return err
		}
		if err := x.touchKey(id); err != nil {
			return err
		}
		return x.audit(by, "key.revoke", id, fmt.Sprintf("%q of workspace %d", k.Name, k.WorkspaceID))
	})
}

// SetBan implements [access.Store].
func (db *DB) SetBan(ctx context.Context, b access.Ban, by access.Actor) error {
	return db.change(ctx, func(x *txn) error {
		if _, err := x.lockKey(b.KeyID); err != nil {
			return err
		}
		if err := x.exec(`INSERT INTO bans (key_id, begins_at, ends_at, level, reason, imposed_by) VALUES ($1, $2, $3, $4, $5, $6)
			ON CONFLICT (key_id) DO UPDATE SET begins_at = excluded.begins_at, ends_at = excluded.ends_at,
				level = excluded.level, reason = excluded.reason, imposed_by = excluded.imposed_by`,
			b.KeyID, b.From.UnixMilli(), b.Until.UnixMilli(), int64(b.Level), b.Reason, b.By); err != nil {
			return err
		}
		if err := x.touchKey(b.KeyID); err != nil {
			return err
		}
		return x.audit(by, "ban.set", b.KeyID, fmt.Sprintf("until %s: %s", b.Until.UTC().Format(time.RFC3339), b.Reason))
	})
}

// LiftBan implements [access.Store]. A key without a ban is left as it is.
func (db *DB) LiftBan(ctx context.Context, keyID string, by access.Actor) error {
	return db.change(ctx, func(x *txn) error {
		k, err := x.lockKey(keyID)
		if err != nil || k.Ban == nil {
			return err
		}
		if err := x.exec("DELETE FROM bans WHERE key_id = $1", keyID); err != nil {
			return err
		}
		if err := x.touchKey(keyID); err != nil {
			return err
		}
		return x.audit(by, "ban.lift", keyID, "would have run until "+k.Ban.Until.UTC().Format(time.RFC3339))
	})
}
