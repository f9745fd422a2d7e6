package store

import (
	"context"
	"iter"
	"slices"
	"time"

	"example.com/petstore/internal/petstore"
)

// A Tx runs statements, in a transaction or on a connection for reading. Their
// parameters are $1, $2 and so on, numbered in the order in which they first appear;
// arguments are int64, int, bool, string, []byte or nil. A text that the engine cannot hold
// is looked for in vain. One goroutine at a time uses it.
type Tx interface {
	// Exec runs a statement and returns how many rows it changed.
	Exec(query string, args ...any) (int64, error)
	// Query yields the rows of a statement. A row is valid until the next one, and an
	// error ends them. No other statement may run while rows are read, except in a
	// snapshot, where a different one may.
	Query(query string, args ...any) iter.Seq2[Row, error]
	// Run runs the statements of a batch in their order, in one round trip.
	Run(b *Batch) error
}

// A Row is one row of a result. Its columns are read into *int64, *bool, *string or
// *[]byte; columns that may be NULL into **int64 or **string; columns of any type into
// *any; a status into a *[petstore.Status]. Pointers to other string types have to be
// converted to *string.
type Row interface {
	Scan(columns ...any) error
}

// A Batch is a number of statements.
type Batch struct{ Statements []Statement }

// A Statement is a statement of a batch with its arguments. Row is called for each of
// its rows, and is nil if it has none.
type Statement struct {
	Query string
	Args  []any
	Row   func(Row) error
}

// Exec adds a statement without rows.
func (b *Batch) Exec(query string, args ...any) {
	b.Statements = append(b.Statements, Statement{Query: query, Args: args})
}

// Query adds a statement whose rows are given to row.
func (b *Batch) Query(row func(Row) error, query string, args ...any) {
	b.Statements = append(b.Statements, Statement{query, args, row})
}

// Each calls row, unless it is nil, for each row, until it returns an error.
func Each(tx Tx, query string, row func(Row) error, args ...any) error {
	for r, err := range tx.Query(query, args...) {
		if err == nil && row != nil {
			err = row(r)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// First calls scan for the first row and reports whether there was one.
func First(tx Tx, query string, scan func(Row) error, args ...any) (found bool, err error) {
	for r, err := range tx.Query(query, args...) {
		if err != nil {
			return false, err
		}
		return true, scan(r)
	}
	return false, nil
}

// RowsOf returns the rows that a query selects.
func RowsOf[T any](tx Tx, scan func(Row, *T) error, query string, args ...any) ([]T, error) {
	all := make([]T, 0, petstore.DefaultPage+1)
	for row, err := range tx.Query(query, args...) {
		if err != nil {
			return nil, err
		}
		all = append(all, *new(T))
		if err := scan(row, &all[len(all)-1]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// rowOf returns the first row that a query selects. Without one it returns missing.
func rowOf[T any](tx Tx, missing error, scan func(Row, *T) error, query string, args ...any) (row T, err error) {
	found, err := First(tx, query, func(r Row) error { return scan(r, &row) }, args...)
	if err == nil && !found {
		err = missing
	}
	return row, err
}

// number returns the number that a query selects, 0 if it selects none.
func number(tx Tx, query string, args ...any) (n int64, err error) {
	_, err = First(tx, query, func(r Row) error { return r.Scan(&n) }, args...)
	return n, err
}

// exists reports whether a query selects a row.
func exists(tx Tx, query string, args ...any) (bool, error) {
	return First(tx, query, func(Row) error { return nil }, args...)
}

// scan reads the columns of a row as [Row] does, and also into a *time.Time or
// *time.Duration, which the tables have in milliseconds with 0 or NULL for no instant, into
// an *int, and a hash into a *[32]byte.
func scan(row Row, columns ...any) error {
	into := slices.Clone(columns)
	for i, column := range columns {
		switch column.(type) {
		case *time.Time:
			into[i] = new(*int64)
		case *time.Duration, *int:
			into[i] = new(int64)
		case *[32]byte:
			into[i] = new([]byte)
		}
	}
	if err := row.Scan(into...); err != nil {
		return err
	}
	for i, column := range columns {
		switch to := column.(type) {
		case *time.Time:
			if millis := *into[i].(**int64); millis != nil {
				*to = instant(*millis)
			}
		case *time.Duration:
			*to = time.Duration(*into[i].(*int64)) * time.Millisecond
		case *int:
			*to = int(*into[i].(*int64))
		case *[32]byte:
			copy(to[:], *into[i].(*[]byte))
		}
	}
	return nil
}

// valuesOf returns the values of the first n columns of a row.
func valuesOf(row Row, n int) ([]any, error) {
	values, columns := make([]any, n), make([]any, n)
	for i := range values {
		columns[i] = &values[i]
	}
	return values, row.Scan(columns...)
}

func exec(tx Tx, query string, args ...any) error {
	_, err := tx.Exec(query, args...)
	return err
}

// result returns what f returns, which is called in one of the transactions of a [DB].
func result[T any](ctx context.Context, transaction func(context.Context, func(Tx) error) error, f func(Tx) (T, error)) (T, error) {
	var found T
	err := transaction(ctx, func(tx Tx) (err error) {
		found, err = f(tx)
		return err
	})
	if err != nil {
		return *new(T), err
	}
	return found, nil
}

// read returns what f reads.
func read[T any](ctx context.Context, s *Store, f func(Tx) (T, error)) (T, error) {
	return result(ctx, s.db.Read, f)
}

// readRows returns the rows that a query selects.
func readRows[T any](ctx context.Context, s *Store, scan func(Row, *T) error, query string, args ...any) ([]T, error) {
	return read(ctx, s, func(tx Tx) ([]T, error) { return RowsOf(tx, scan, query, args...) })
}

// get returns the row that a query of a workspace and an id selects. Without one it
// returns missing's error.
func get[T any](ctx context.Context, s *Store, query string, workspace, id int64, scan func(Row, *T) error, missing func(int64) *petstore.Error) (T, error) {
	return read(ctx, s, func(tx Tx) (T, error) { return rowOf(tx, missing(id), scan, query, workspace, id) })
}

// millis returns an instant as the tables hold it: in milliseconds, NULL for the
// zero time. The queries return 0 for NULL.
func millis(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMilli()
}

func instant(millis int64) time.Time {
	if millis == 0 {
		return time.Time{}
	}
	return time.UnixMilli(millis).UTC()
}
