package postgres

import (
	"context"
	"errors"

	"example.com/petstore/internal/petstore"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// read calls f with a connection on which the workspace's latest commit of this
// node shows. A connection that turns out to be lost is replaced once.
func (db *DB) read(ctx context.Context, workspace int64, f func(*pgxpool.Conn) error) error {
	if db.replica != nil {
		if done, err := db.replica.read(ctx, workspace, f); done {
			db.counted.replica.Add(1)
			return err
		}
	}
	return onPool(ctx, db.readers, f)
}

// onPool calls f with a connection of the pool, again if it was lost: a read
// does no harm twice.
func onPool(ctx context.Context, pool *pgxpool.Pool, f func(*pgxpool.Conn) error) error {
	for n := 0; ; n++ {
		err := pool.AcquireFunc(ctx, f)
		if n == 2 || !lost(err) || pause(ctx, n) != nil {
			return judge(err)
		}
	}
}

// get returns the row that a query of a workspace and an id selects; without
// one it returns missing's error.
func get[T any](ctx context.Context, db *DB, query string, workspace, id int64, scan func(pgx.Row, *T) error, missing func(int64) *petstore.Error) (T, error) {
	var row, none T
	err := db.read(ctx, workspace, func(c *pgxpool.Conn) error {
		row = none
		err := scan(c.QueryRow(ctx, query, workspace, id), &row)
		if errors.Is(err, pgx.ErrNoRows) {
			return missing(id)
		}
		return err
	})
	if err != nil {
		return none, err
	}
	return row, nil
}

// A querier is a pool, a connection or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

// collect returns all rows of a query; none is an empty slice.
func collect[T any](ctx context.Context, c querier, scan func(pgx.Row, *T) error, query string, args ...any) ([]T, error) {
	all := []T{}
	rows, err := c.Query(ctx, query, args...)
	if err != nil {
		return all, err
	}
	defer rows.Close()
	for rows.Next() {
		var row T
		if err := scan(rows, &row); err != nil {
			return all, err
		}
		all = append(all, row)
	}
	return all, rows.Err()
}
