package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// read calls f with a connection for reading. It calls f again if the connection was
// lost or another transaction was in the way, which does no harm to a read.
func (db *DB) read(ctx context.Context, f func(*pgxpool.Conn) error) error {
	for n := 0; ; n++ {
		err := db.readers.AcquireFunc(ctx, f)
		if n == 2 || !lost(err) && severityOf(err) != conflict || pause(ctx, n) != nil {
			return toClientError(err)
		}
	}
}

// A querier is a pool, a connection or a transaction.
type querier interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
	CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, rows pgx.CopyFromSource) (int64, error)
}
