package store

import (
	"context"
	"strconv"
	"strings"

	"example.com/petstore/internal/petstore"
)

// A Search has the parts of a query for pets.
type Search struct{ From, Where, OrderBy string }

// A condition is one on the rows of a list, with ? for its argument.
type condition struct {
	sql string
	arg any
}

// A list is a query for one page of a table.
type list[T any] struct {
	dialect   *Dialect
	table     string
	columns   string // as scan reads them
	scan      func(Row, *T) error
	workspace int64
	page      petstore.Page
	ids       []int64 // if not empty, only rows with these ids

	// The index has the ids in order for given values of equal and of column. Without an
	// index the primary key is used.
	index  string
	equal  []condition
	column string
	values []any // of column; empty for any

	tests  []condition // tested row by row
	tested string      // further columns that the tests need

	// find writes a query for the page by an index that does not have the ids in order,
	// and reports whether there is one. It may be nil.
	find func(tx Tx, s *statement) (found bool, err error)
}

// read returns the page.
func (l *list[T]) read(ctx context.Context, s *Store) (page []T, err error) {
	err = l.within(ctx, s, func(tx Tx) (err error) {
		page, err = l.run(tx)
		return err
	})
	return page, err
}

// count returns how many rows the page has.
func (l *list[T]) count(ctx context.Context, s *Store) (n int64, err error) {
	err = l.within(ctx, s, func(tx Tx) error {
		return l.query(tx, func(s *statement) (full bool, err error) {
			_, err = one(tx, "SELECT count(*) FROM ("+s.String()+") AS page", func(row Row) error { return row.Scan(&n) }, s.args...)
			return n == int64(l.page.Limit), err
		})
	})
	return n, err
}

// within calls f in a transaction.
func (l *list[T]) within(ctx context.Context, s *Store, f func(Tx) error) error {
	if len(l.tests) > 0 {
		return s.db.LongRead(ctx, f)
	}
	return s.db.Read(ctx, f)
}

// firstTested is how many rows are tested in the order of ids before an index is used
// that does not have the ids in order. If many rows match, these fill the page, and
// nothing has to be sorted.
const firstTested = 2000

// run returns the page.
func (l *list[T]) run(tx Tx) (page []T, err error) {
	page = []T{}
	err = l.query(tx, func(s *statement) (full bool, err error) {
		page, err = l.collect(tx, s)
		return len(page) == l.page.Limit, err
	})
	return page, err
}

// query calls take with a query for the page of the first rows, and with a second query
// if that does not fill the page. Each query is for the whole page, so that the page
// shows one state.
func (l *list[T]) query(tx Tx, take func(*statement) (full bool, err error)) error {
	if l.page.Limit <= 0 {
		return nil
	}
	if l.find != nil {
		if full, err := take(l.first()); err != nil || full {
			return err
		}
		s, err := l.found(tx)
		if err != nil {
			return err
		}
		if s != nil {
			_, err = take(s)
			return err
		}
	}
	s := &statement{dialect: l.dialect}
	s.WriteString(l.rows(s, l.columns, l.tests, 0))
	_, err := take(s)
	return err
}

// found returns the query that find writes. It returns nil if all rows are to be tested,
// as where there are no more rows than firstTested.
func (l *list[T]) found(tx Tx) (*statement, error) {
	s, rows := &statement{dialect: l.dialect}, int64(0)
	s.WriteString("SELECT count(*) FROM (" + l.rows(s, "id", nil, firstTested) + ") " + l.table)
	_, err := one(tx, s.String(), func(row Row) error { return row.Scan(&rows) }, s.args...)
	if err != nil || rows < firstTested {
		return nil, err
	}
	s = &statement{dialect: l.dialect}
	found, err := l.find(tx, s)
	if err != nil || !found {
		return nil, err
	}
	return s, nil
}

func (l *list[T]) collect(tx Tx, s *statement) ([]T, error) {
	page := make([]T, 0, min(l.page.Limit, petstore.MaxPage+1))
	for row, err := range tx.Query(s.String(), s.args...) {
		if err != nil {
			return nil, err
		}
		var entry T
		page = append(page, entry)
		if err := l.scan(row, &page[len(page)-1]); err != nil {
			return nil, err
		}
	}
	return page, nil
}

// first returns the query for the page of those of the first rows that pass the tests.
func (l *list[T]) first() *statement {
	s := &statement{dialect: l.dialect}
	rows := l.rows(s, l.columns+l.tested, nil, firstTested)
	s.WriteString("SELECT " + l.columns + " FROM (" + rows + ") " + l.table + " WHERE " + strings.TrimPrefix(s.and(l.tests), " AND ") +
		" ORDER BY id" + l.order() + " LIMIT " + s.arg(l.page.Limit))
	return s
}

// findByValue sets find to use an index of two columns: one that has some values, and one
// that has a range. The ids of all rows that match are then sorted; "id + 0" keeps the
// planner from testing rows in the order of ids instead.
func (l *list[T]) findByValue(index, column string, values []any, matches ...condition) {
	l.find = func(_ Tx, s *statement) (bool, error) {
		ids := "SELECT id FROM " + l.table + l.dialect.Hint(index) + l.where(s) + s.in(column, values) + s.and(matches) + s.and(l.tests) +
			" ORDER BY id + 0" + l.order() + " LIMIT " + strconv.Itoa(max(l.page.Limit, petstore.MaxPage+1)) // tells the planner how few they are
		s.WriteString("SELECT " + l.columns + " FROM " + l.table + " WHERE workspace = " + parameter(1) + " AND id IN (" + ids + ") ORDER BY id + 0" +
			l.order() + " LIMIT " + s.arg(l.page.Limit))
		return true, nil
	}
}

// rows returns a query for the first rows of the list that pass some tests, in the order of
// ids. Engines merge the rows of each value by id, and read no more of them than it takes.
// A limit of 0 is that of the page.
func (l *list[T]) rows(s *statement, columns string, tests []condition, limit int) string {
	query := "SELECT " + columns + " FROM " + l.table
	if l.index != "" {
		query += l.dialect.Hint(l.index)
	}
	query += l.where(s) + s.and(l.equal) + s.and(tests)
	parts := []string{query}
	if len(l.values) > 0 {
		parts = nil
	}
	for _, v := range l.values {
		parts = append(parts, query+" AND "+l.column+" = "+s.arg(v))
	}
	first := " ORDER BY id" + l.order() + " LIMIT "
	if limit == 0 {
		first += s.arg(l.page.Limit)
	} else {
		first += strconv.Itoa(limit)
	}
	if len(parts) > 1 && l.dialect.SortParts {
		for i := range parts {
			parts[i] = "(" + parts[i] + first + ")"
		}
	}
	return strings.Join(parts, " UNION ALL ") + first
}

// where returns the condition that a row is of the workspace, and comes after the start
// of the page or has one of the ids.
func (l *list[T]) where(s *statement) string {
	workspace := " WHERE workspace = " + s.arg(l.workspace)
	if len(l.ids) > 0 {
		ids := make([]any, len(l.ids))
		for i, id := range l.ids {
			ids[i] = id
		}
		for len(ids)&(len(ids)-1) > 0 { // up to a power of two: engines keep few statements
			ids = append(ids, ids[0])
		}
		return workspace + s.in("id", ids)
	}
	beyond := " AND id > "
	if l.page.Newest {
		beyond = " AND id < "
	}
	return workspace + beyond + s.arg(l.page.Start().After)
}

// order ends an ORDER BY the id.
func (l *list[T]) order() string {
	if l.page.Newest {
		return " DESC"
	}
	return ""
}

// A statement is a query that is being written, and its arguments. Engines number them in
// the order in which their parameters first appear in the text.
type statement struct {
	strings.Builder

	dialect *Dialect
	args    []any
}

// arg adds an argument and returns its parameter.
func (s *statement) arg(v any) string {
	s.args = append(s.args, v)
	return parameter(len(s.args))
}

func parameter(n int) string { return "$" + strconv.Itoa(n) }

// and returns the text of conditions, each after AND.
func (s *statement) and(all []condition) string {
	var text strings.Builder
	for _, c := range all {
		before, after, _ := strings.Cut(c.sql, "?")
		text.WriteString(" AND " + before + s.arg(c.arg) + after)
	}
	return text.String()
}

// in returns the condition, after AND, that a column has one of some values.
func (s *statement) in(column string, values []any) string {
	parameters := make([]string, len(values))
	for i, v := range values {
		parameters[i] = s.arg(v)
	}
	return " AND " + column + " IN (" + strings.Join(parameters, ", ") + ")"
}
