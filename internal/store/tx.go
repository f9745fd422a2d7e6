package store

import "iter"

// A Tx runs statements, in a transaction or on a connection for reading. Their
// parameters are $1, $2 and so on, numbered in the order in which they first appear;
// arguments are int64, int, bool, string, []byte or nil. One goroutine at a time uses it.
type Tx interface {
	// Exec runs a statement and returns how many rows it changed.
	Exec(query string, args ...any) (int64, error)
	// Query gives the rows of a statement, each until the next. An error ends them. No
	// other statement may run while they are read, except in a snapshot, and there not the
	// same one again.
	Query(query string, args ...any) iter.Seq2[Row, error]
	// Run runs the statements of a batch in their order, in one round trip.
	Run(b *Batch) error
	// Fill adds many rows to a table, with the values of the columns.
	Fill(table string, columns []string, rows [][]any) error
}

// A Row is one row of a result. Its columns are read into *int64, *bool, *string or
// *[]byte, or, if they may be NULL, into **int64 or **string, or as they are into *any; a
// status into a *[petstore.Status]. Other strings of ours are read by way of their *string.
type Row interface {
	Scan(columns ...any) error
}

// A Batch is a number of statements.
type Batch struct{ Statements []Statement }

// A Statement is a statement of a batch, its arguments, and what takes its rows; nil if
// there are none.
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

// Reset takes all statements out.
func (b *Batch) Reset() { b.Statements = b.Statements[:0] }

// each calls row for each row, until it returns an error.
func each(tx Tx, query string, row func(Row) error, args ...any) error {
	for r, err := range tx.Query(query, args...) {
		if err != nil {
			return err
		}
		if err := row(r); err != nil {
			return err
		}
	}
	return nil
}

// one calls scan for the first row and reports whether there was one.
func one(tx Tx, query string, scan func(Row) error, args ...any) (found bool, err error) {
	for r, err := range tx.Query(query, args...) {
		if err != nil {
			return false, err
		}
		return true, scan(r)
	}
	return false, nil
}

func exec(tx Tx, query string, args ...any) error {
	_, err := tx.Exec(query, args...)
	return err
}

// execAll runs a statement once for each row.
func execAll[T any](tx Tx, query string, rows []T, args func(T) []any) error {
	var b Batch
	for _, row := range rows {
		b.Exec(query, args(row)...)
	}
	return tx.Run(&b)
}
