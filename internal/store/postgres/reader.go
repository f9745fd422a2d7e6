package postgres

import (
	"context"
	"errors"

	"example.com/petstore/internal/petstore"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// read calls f with a connection for reading, again if that was lost or met
// another transaction: a read does no harm twice.
func (db *DB) read(ctx context.Context, f func(*pgxpool.Conn) error) error {
	for n := 0; ; n++ {
		err := db.readers.AcquireFunc(ctx, f)
		if n == 2 || !lost(err) && gravityOf(err) != conflict || pause(ctx, n) != nil {
			return judge(err)
		}
	}
}

// get returns the row that a query of a workspace and an id selects; without
// one it returns missing's error.
func get[T any](ctx context.Context, db *DB, query string, workspace, id int64, scan func(pgx.Row, *T) error, missing func(int64) *petstore.Error) (T, error) {
	var row, none T
	err := db.read(ctx, func(c *pgxpool.Conn) error {
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
	CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, rows pgx.CopyFromSource) (int64, error)
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
