package postgres

import (
	"context"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"example.com/petstore/internal/store"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// An engine is a DB as [store.Store] uses it.
type engine struct{ db *DB }

// Change notifies the nodes after the commit. Changes wait for each other, so that the
// versions of access are numbered in the order of the commits.
func (a engine) Change(ctx context.Context, f func(store.Tx) error) error {
	return a.db.change(ctx, func(tx sqlTx) error {
		if _, err := tx.Exec("SELECT pg_advisory_xact_lock($1), pg_notify($2, '')", accessLock, channel); err != nil {
			return err
		}
		return f(tx)
	})
}

// Read tries again as a write does that was not sent: a read does no harm twice.
func (a engine) Read(ctx context.Context, f func(store.Tx) error) error {
	return a.db.retry(ctx, 3, func() (sent bool, err error) {
		return false, a.db.readers.AcquireFunc(ctx, func(c *pgxpool.Conn) error { return f(sqlTx{ctx, c}) })
	})
}

func (a engine) Write(ctx context.Context, f func(store.Tx) error) error {
	return a.db.change(ctx, func(tx sqlTx) error { return f(tx) })
}

func (a engine) WriteBulk(ctx context.Context, _ int64, f func(store.Tx) error) error {
	return a.Write(ctx, f)
}

// A querier is a pool, a connection or a transaction.
type querier interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
	CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, rows pgx.CopyFromSource) (int64, error)
}

// An sqlTx is a connection, or a transaction of it.
type sqlTx struct {
	ctx context.Context //nolint:containedctx // it lives as long as the transaction
	querier
}

func (t sqlTx) Exec(query string, args ...any) (int64, error) {
	tag, err := t.querier.Exec(t.ctx, query, storable(args)...)
	return tag.RowsAffected(), err
}

func (t sqlTx) Query(query string, args ...any) iter.Seq2[store.Row, error] {
	return func(yield func(store.Row, error) bool) {
		rows, err := t.querier.Query(t.ctx, query, storable(args)...)
		if err != nil {
			yield(nil, err)
			return
		}
		defer rows.Close()
		for rows.Next() {
			if !yield(rows, nil) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(nil, err)
		}
	}
}

func (t sqlTx) Run(b *store.Batch) error {
	if len(b.Statements) == 0 {
		return nil
	}
	all := new(pgx.Batch)
	for _, s := range b.Statements {
		q := all.Queue(s.Query, s.Args...)
		if s.Row != nil {
			q.Query(func(rows pgx.Rows) error {
				for rows.Next() {
					if err := s.Row(rows); err != nil {
						return err
					}
				}
				return rows.Err()
			})
		}
	}
	return t.SendBatch(t.ctx, all).Close()
}

// storable returns the arguments with NULL in the place of a text that the server cannot hold:
// that equals and contains nothing.
func storable(args []any) []any {
	for i, arg := range args {
		if text, ok := arg.(string); ok && (!utf8.ValidString(text) || strings.Contains(text, "\x00")) {
			args = slices.Clone(args)
			args[i] = nil
		}
	}
	return args
}

// SetAppliedState implements [access.Store]. It does nothing, since there may be many servers.
func (engine) SetAppliedState(context.Context, int64) error { return nil }

// AwaitApplied implements [access.Store]. It does not wait: the servers are notified
// of a change at once, and also look for changes each quarter of a second.
func (engine) AwaitApplied(context.Context) (bool, error) { return true, nil }
