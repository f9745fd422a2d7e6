package postgres

import (
	"context"
	"fmt"
	"iter"

	"example.com/petstore/internal/store"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// fetchAtOnce is how many rows of a query a snapshot holds.
const fetchAtOnce = 1000

// Snapshot uses a connection of its own, without time-outs.
func (a engine) Snapshot(ctx context.Context, f func(store.Tx) error) error {
	c, err := connect(ctx, a.db.url, administering)
	if err != nil {
		return toClientError(err)
	}
	defer c.Close(context.WithoutCancel(ctx))
	options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	return toClientError(pgx.BeginTxFunc(ctx, c, options, func(tx pgx.Tx) error { return f(&snapshot{sqlTx: sqlTx{ctx, tx}, conn: c}) }))
}

// A snapshot is a transaction whose queries are cursors on the server, so that few rows at
// a time are in memory.
type snapshot struct {
	sqlTx
	conn *pgx.Conn
	n    int // cursors so far
}

// Query implements [store.Tx].
func (s *snapshot) Query(query string, args ...any) iter.Seq2[store.Row, error] {
	return func(yield func(store.Row, error) bool) {
		s.n++
		cursor := fmt.Sprint("snapshot_", s.n)
		if _, err := s.sqlTx.Exec("DECLARE "+cursor+" NO SCROLL CURSOR FOR "+query, args...); err != nil {
			yield(nil, err)
			return
		}
		row := &fetched{types: s.conn.TypeMap()}
		for {
			part := s.conn.PgConn().ExecParams(s.ctx, fmt.Sprintf("FETCH %d FROM %s", fetchAtOnce, cursor), nil, nil, nil, []int16{pgtype.BinaryFormatCode}).Read()
			if part.Err != nil {
				yield(nil, part.Err)
				return
			}
			row.fields = part.FieldDescriptions
			for _, row.values = range part.Rows {
				if !yield(row, nil) {
					_, _ = s.sqlTx.Exec("CLOSE " + cursor) // if this fails, the end of the transaction closes it
					return
				}
			}
			if len(part.Rows) < fetchAtOnce {
				return
			}
		}
	}
}

// A fetched is a row that FETCH has returned.
type fetched struct {
	types  *pgtype.Map
	fields []pgconn.FieldDescription
	values [][]byte
}

// Scan implements [store.Row].
func (f *fetched) Scan(columns ...any) error {
	return pgx.ScanRow(f.types, f.fields, f.values, columns...)
}
