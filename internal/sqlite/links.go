package sqlite

import (
	"context"

	"example.com/petstore/internal/access"
)

// UseLink implements [access.Store].
func (db *DB) UseLink(ctx context.Context, l access.Link, e access.AuditEntry) (first bool, err error) {
	err = db.change(ctx, func(c *conn) error {
		if err := c.exec("DELETE FROM used_links WHERE ends_at<?", db.now().Add(-access.LinkGrace).UnixMilli()); err != nil {
			return err
		}
		if err := c.exec("INSERT INTO used_links (hash, ends_at) VALUES (?, ?) ON CONFLICT DO NOTHING", l.Hash[:], l.Until.UnixMilli()); err != nil {
			return err
		}
		if first = c.Changes() > 0; !first {
			return nil
		}
		return db.audit(c, e.Actor, e.Action, e.Subject, e.Detail)
	})
	return first && err == nil, err
}

// Note implements [access.Store].
func (db *DB) Note(ctx context.Context, e access.AuditEntry) error {
	return db.change(ctx, func(c *conn) error { return db.audit(c, e.Actor, e.Action, e.Subject, e.Detail) })
}
