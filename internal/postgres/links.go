package postgres

import (
	"context"

	"example.com/petstore/internal/access"
)

// UseLink implements [access.Store].
func (db *DB) UseLink(ctx context.Context, l access.Link, e access.AuditEntry) (first bool, err error) {
	err = db.change(ctx, func(x *txn) error {
		if err := x.exec("DELETE FROM used_links WHERE ends_at < $1", x.now.Add(-access.LinkGrace).UnixMilli()); err != nil {
			return err
		}
		tag, err := x.Exec(x.ctx, "INSERT INTO used_links (hash, ends_at) VALUES ($1, $2) ON CONFLICT DO NOTHING", l.Hash[:], l.Until.UnixMilli())
		if err != nil {
			return err
		}
		if first = tag.RowsAffected() > 0; !first {
			return nil
		}
		return x.audit(e.Actor, e.Action, e.Subject, e.Detail)
	})
	return first && err == nil, err
}

// Note implements [access.Store].
func (db *DB) Note(ctx context.Context, e access.AuditEntry) error {
	return db.change(ctx, func(x *txn) error { return x.audit(e.Actor, e.Action, e.Subject, e.Detail) })
}
