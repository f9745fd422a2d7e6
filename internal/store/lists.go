package store

import (
	"slices"
	"strconv"
	"strings"

	"example.com/petstore/internal/petstore"
)

// A Search has the parts of a query for pets: a condition with ? for each of its arguments.
type Search struct {
	From, Where, OrderBy string
	Args                 []any
}

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
	ids       []int64 // the only ones, if there are any

	// The ids follow, in the index, what equal and one value of a column ask for. Without
	// an index it is the primary key.
	index  string
	equal  []condition
	column string
	values []any // none for any

	tests  []condition // of rows, in the order of ids
	tested string      // columns of the tests that follow those of scan

	// find writes a query for the page by an index that does not have the ids in order. It
	// may be nil.
	find func(tx Tx, s *statement) error
}

// firstTested is how many rows are tested before an index is asked that does not have the
// ids in order. If many rows match they fill the page, and there is nothing to sort. If so
// many match that mostTested rows may fill it, these are tested.
const firstTested, mostTested = 2000, 32000

// read returns the page. Each of its statements asks for the whole page, so the page is of
// one state.
func (l *list[T]) read(tx Tx) (page []T, err error) {
	if l.page.Limit <= 0 {
		return []T{}, nil
	}
	rows, s := int64(0), &statement{}
	if l.find != nil {
		for tested := firstTested; tested <= mostTested; tested *= mostTested / firstTested {
			first := &statement{}
			among := "SELECT " + l.columns + " FROM (" + l.rows(first, l.columns+l.tested, nil, tested) + ") " + l.table
			first.WriteString(among + " WHERE TRUE" + first.and(l.tests) + " ORDER BY id" + l.order() + " LIMIT " + first.arg(l.page.Limit))
			if page, err = RowsOf(tx, l.scan, first.String(), first.args...); err != nil || len(page) == l.page.Limit {
				return page, err
			}
			if len(page)*mostTested/firstTested < l.page.Limit {
				break
			}
		}
		count := &statement{}
		if rows, err = number(tx, "SELECT count(*) FROM ("+l.rows(count, "id", nil, firstTested)+") "+l.table, count.args...); err != nil {
			return nil, err
		}
	}
	if rows < firstTested {
		s.WriteString(l.rows(s, l.columns, l.tests, 0))
	} else if err := l.find(tx, s); err != nil {
		return nil, err
	}
	return RowsOf(tx, l.scan, s.String(), s.args...)
}

// findByValue makes an index of values the one that find uses: one with a column that has
// some values, and one with a range. The ids of all rows that match are sorted, "id + 0"
// keeps a planner from testing rows in the order of ids instead.
func (l *list[T]) findByValue(index, column string, values []any, matches ...condition) {
	l.find = func(_ Tx, s *statement) error {
		ids := "SELECT id FROM " + l.table + l.dialect.Hint(index) + l.where(s) + " AND " + s.in(column, values) +
			s.and(matches) + s.and(l.tests) +
			" ORDER BY id + 0" + l.order() + " LIMIT " + strconv.Itoa(max(l.page.Limit, petstore.MaxPage+1)) // a planner knows how few they are
		s.WriteString("SELECT " + l.columns + " FROM " + l.table + " WHERE workspace = $1 AND id IN (" + ids + ") ORDER BY id + 0" +
			l.order() + " LIMIT " + s.arg(l.page.Limit))
		return nil
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

// where returns the condition that a row is of the workspace, and is behind the beginning
// of the page or has one of the ids.
func (l *list[T]) where(s *statement) string {
	workspace := " WHERE workspace = " + s.arg(l.workspace)
	if len(l.ids) > 0 {
		ids := make([]any, len(l.ids))
		for i, id := range l.ids {
			ids[i] = id
		}
		return workspace + " AND " + s.in("id", ids)
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
	args []any
}

// arg adds an argument and returns its parameter.
func (s *statement) arg(v any) string {
	s.args = append(s.args, v)
	return "$" + strconv.Itoa(len(s.args))
}

// put returns SQL with the parameters of arguments in the places of its ?.
func (s *statement) put(sql string, args ...any) (text string) {
	for _, arg := range args {
		before, after, _ := strings.Cut(sql, "?")
		text, sql = text+before+s.arg(arg), after
	}
	return text + sql
}

// and returns the text of conditions, each after AND.
func (s *statement) and(all []condition) (text string) {
	for _, c := range all {
		text += " AND " + s.put(c.sql, c.arg)
	}
	return text
}

// in returns the condition that a column has one of some values. There are few different
// lengths, since engines keep each statement prepared.
func (s *statement) in(column string, values []any) string {
	for len(values)&(len(values)-1) > 0 {
		values = append(slices.Clip(values), values[0])
	}
	parameters := make([]string, len(values))
	for i, v := range values {
		parameters[i] = s.arg(v)
	}
	return column + " IN (" + strings.Join(parameters, ", ") + ")"
}
