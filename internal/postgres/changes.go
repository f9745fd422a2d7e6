package postgres

import (
	"context"
	"errors"

	"example.com/petstore/internal/access"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const selectState = "SELECT state, floor FROM access_state"

// Changes implements [access.Store]. A call when nothing changed is one look-up
// of one row.
func (db *DB) Changes(ctx context.Context, since int64) (changes access.Changes, err error) {
	err = db.readAccess(ctx, func(c querier) error {
		var floor int64
		return c.QueryRow(ctx, selectState).Scan(&changes.State, &floor)
	})
	if err != nil || changes.State == since {
		return changes, err
	}
	err = db.snapshot(ctx, func(c querier) error {
		changes, err = changesSince(ctx, c, since)
		return err
	})
	return changes, err
}

// snapshot calls f in a transaction that sees one state of the database.
func (db *DB) snapshot(ctx context.Context, f func(querier) error) error {
	return onPool(ctx, db.readers, func(c *pgxpool.Conn) error {
		options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
		return pgx.BeginTxFunc(ctx, c, options, func(tx pgx.Tx) error { return f(tx) })
	})
}

// changesSince is Changes inside a transaction. A reader ahead of the state knew
// a database that was since restored from a backup.
func changesSince(ctx context.Context, c querier, since int64) (out access.Changes, err error) {
	var floor int64
	if err := c.QueryRow(ctx, selectState).Scan(&out.State, &floor); err != nil {
		return out, err
	}
	out.All = since < floor || since > out.State
	live := ""
	if out.All {
		since, live = 0, " AND k.revoked_at IS NULL"
	}
	out.Workspaces, err = collect(ctx, c, scanWorkspace, "SELECT "+workspaceColumns+" FROM workspaces WHERE state > $1 ORDER BY id", since)
	if err != nil {
		return out, err
	}
	out.Keys, err = keysWhere(ctx, c, "k.state > $1"+live, since)
	return out, err
}

// Secret implements [access.Store].
func (db *DB) Secret(ctx context.Context) (secret []byte, err error) {
	err = db.readAccess(ctx, func(c querier) error {
		err := c.QueryRow(ctx, "SELECT value FROM meta WHERE name = 'secret'").Scan(&secret)
		if errors.Is(err, pgx.ErrNoRows) {
			return &ownError{"the database has lost its secret"}
		}
		return err
	})
	return secret, err
}

// Audit implements [access.Store].
func (db *DB) Audit(ctx context.Context, limit int) (entries []access.AuditEntry, err error) {
	err = db.readAccess(ctx, func(c querier) error {
		entries, err = collect(ctx, c, scanAudit, "SELECT at, actor, action, subject, detail FROM audit ORDER BY id DESC LIMIT $1", max(limit, 0))
		return err
	})
	return entries, err
}

func scanAudit(row pgx.Row, e *access.AuditEntry) error {
	var at int64
	err := row.Scan(&at, &e.Actor, &e.Action, &e.Subject, &e.Detail)
	e.At = instantOf(&at)
	return err
}
