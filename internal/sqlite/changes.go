package sqlite

import (
	"context"
	"errors"

	"example.com/petstore/internal/access"
	"zombiezen.com/go/sqlite"
)

// state returns the number of the latest change of access, and the least state
// whose readers can be told what changed since.
func (c *conn) state() (state, floor int64, err error) {
	_, err = c.one("SELECT state, floor FROM access_state", func(row *sqlite.Stmt) {
		state, floor = row.ColumnInt64(0), row.ColumnInt64(1)
	})
	return state, floor, err
}

// Changes implements [access.Store].
func (db *DB) Changes(ctx context.Context, since int64) (changes access.Changes, err error) {
	c, err := db.reader(ctx)
	if err != nil {
		return changes, err
	}
	defer db.release(c)
	state, _, err := c.state()
	if err != nil || state == since {
		return access.Changes{State: state}, db.judge(err)
	}
	err = snapshot(func(c *conn) (err error) {
		changes, err = c.changes(since)
		return err
	})(c)
	return changes, db.judge(err)
}

// changes is Changes inside a transaction. A reader ahead of the state knew a
// database that was since restored from a backup.
func (c *conn) changes(since int64) (access.Changes, error) {
	state, floor, err := c.state()
	if err != nil {
		return access.Changes{}, err
	}
	out := access.Changes{State: state, All: since < floor || since > state}
	live := ""
	if out.All {
		since, live = 0, " AND k.revoked_at IS NULL"
	}
	err = c.each("SELECT "+workspaceColumns+" FROM workspaces WHERE state>? ORDER BY id",
		func(row *sqlite.Stmt) { out.Workspaces = append(out.Workspaces, scanWorkspace(row)) }, since)
	if err != nil {
		return out, err
	}
	out.Keys, err = c.keys("k.state>?"+live, since)
	return out, err
}

// Secret implements [access.Store].
func (db *DB) Secret(ctx context.Context) (secret []byte, err error) {
	err = db.read(ctx, func(c *conn) error {
		found, err := c.one("SELECT value FROM meta WHERE name='secret'", func(row *sqlite.Stmt) {
			secret = make([]byte, row.ColumnLen(0))
			row.ColumnBytes(0, secret)
		})
		if err == nil && !found {
			err = errors.New("the database has lost its secret")
		}
		return err
	})
	return secret, err
}

// Audit implements [access.Store].
func (db *DB) Audit(ctx context.Context, limit int) ([]access.AuditEntry, error) {
	entries := []access.AuditEntry{}
	err := db.read(ctx, func(c *conn) error {
		return c.each("SELECT at, actor, action, subject, detail FROM audit ORDER BY id DESC LIMIT ?", func(row *sqlite.Stmt) {
			entries = append(entries, access.AuditEntry{
				At: instant(row, 0), Actor: access.Actor(row.ColumnText(1)), Action: row.ColumnText(2),
				Subject: row.ColumnText(3), Detail: row.ColumnText(4),
			})
		}, max(limit, 0))
	})
	return entries, err
}
