package sqlite

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"example.com/petstore/internal/petstore"
	"zombiezen.com/go/sqlite"
)

// A filter is a condition on a list, with ? for its argument.
type filter struct {
	sql string
	arg any
}

const (
	byStatus      = "status=?"
	byCategory    = "category=?"
	byName        = "instr(folded,?)>0"
	byMaxQuantity = "quantity<=?"
	isLowStock    = "quantity<=100" // which is what the index of low stock has
	byPet         = "pet=?"
	byComplete    = "complete=?"
	shipsFrom     = "ship_date>=?"
	shipsTo       = "ship_date<=?"
)

// A list is a query for one page of a table.
type list[T any] struct {
	columns   string // as scan reads them, the id first
	table     string
	index     string // in which the ids follow what equal and a lane ask for; "" for the primary key
	workspace int64
	page      petstore.Page
	equal     []filter
	lanes     []filter // alternatives; none for no such condition
	tests     []filter // of rows, in the order of ids
	scan      func(*sqlite.Stmt) T

	// rest returns the query for what is left of a page after the first rows were
	// tested, by an index that does not have the ids in order; nil to go on testing. A
	// list without such an index has no rest.
	rest func(*conn, petstore.Page) (*statement, error)
}

// A statement is a query and its arguments.
type statement struct {
	strings.Builder

	args []any
}

// arg adds an argument and returns its parameter. The plus sign, here and in other
// statements, keeps SQLite from planning the statement anew for each value that is bound.
func (s *statement) arg(v any) string {
	s.args = append(s.args, v)
	return "+?" + strconv.Itoa(len(s.args))
}

// where returns the conditions of filters, joined by an operator.
func (s *statement) where(operator string, filters []filter) string {
	var text strings.Builder
	for i, f := range filters {
		if i > 0 {
			text.WriteString(operator)
		}
		before, after, has := strings.Cut(f.sql, "?")
		if text.WriteString(before); has {
			text.WriteString(s.arg(f.arg) + after)
		}
	}
	return text.String()
}

// order returns the words of a query for a direction: the rows that come after an id, and
// their order.
func order(p petstore.Page) (beyond, by string) {
	if p.Newest {
		return "<", " DESC"
	}
	return ">", ""
}

// query returns the query of a page of the rows that pass the tests, or, if all are asked
// for, of all rows with a last column that says whether they do. SQLite merges the lanes
// by id, and reads no more of them than the page takes. The index is named: left to
// itself, SQLite takes the primary key and reads past all other rows.
func (l *list[T]) query(p petstore.Page, all bool) *statement {
	s := &statement{args: []any{l.workspace, p.After, p.Limit}}
	beyond, by := order(p)
	columns, conditions := l.columns, " WHERE workspace=+?1 AND id"+beyond+"+?2"
	if l.index != "" {
		conditions = " INDEXED BY " + l.index + conditions
	}
	if len(l.equal) > 0 {
		conditions += " AND " + s.where(" AND ", l.equal)
	}
	if tests := s.where(" AND ", l.tests); all {
		columns += ", " + tests
	} else if tests != "" {
		conditions += " AND " + tests
	}
	rows := "SELECT " + columns + " FROM " + l.table + conditions
	if len(l.lanes) == 0 {
		s.WriteString(rows)
	}
	for i := range l.lanes {
		if i > 0 {
			s.WriteString(" UNION ALL ")
		}
		s.WriteString(rows + " AND " + s.where("", l.lanes[i:i+1]))
	}
	s.WriteString(" ORDER BY id" + by + " LIMIT +?3")
	return s
}

// firstTested is how many rows are tested before an index is asked that does not have the
// ids in order. If many rows match they fill the page, and there is nothing to sort.
const firstTested = 2000

// run returns the page.
func (l *list[T]) run(c *conn) (found []T, err error) {
	left := l.page.Start()
	if left.Limit <= 0 {
		return []T{}, nil
	}
	found = make([]T, 0, min(left.Limit, petstore.MaxPage+1))
	s := (*statement)(nil)
	if l.rest != nil {
		var all bool
		if found, all, err = l.testFirst(c, found, &left); all || err != nil {
			return found, err
		}
		if s, err = l.rest(c, left); err != nil {
			return nil, err
		}
	}
	if s == nil {
		s = l.query(left, false)
	}
	for row, err := range c.query(s.String(), s.args...) {
		if err != nil {
			return nil, err
		}
		if found = append(found, l.scan(row)); len(found) == l.page.Limit {
			break
		}
	}
	return found, nil
}

// testFirst tests the first rows, changes left to what comes after them, and reports
// whether the page is full or nothing comes.
func (l *list[T]) testFirst(c *conn, found []T, left *petstore.Page) (_ []T, all bool, err error) {
	s := l.query(petstore.Page{After: left.After, Limit: firstTested, Newest: left.Newest}, true)
	passes, tested := 1+strings.Count(l.columns, ","), 0
	for row, err := range c.query(s.String(), s.args...) {
		if err != nil {
			return nil, false, err
		}
		tested++
		left.After = row.ColumnInt64(0)
		if !row.ColumnBool(passes) {
			continue
		}
		found = append(found, l.scan(row))
		if left.Limit--; left.Limit == 0 {
			return found, true, nil
		}
	}
	return found, tested < firstTested, nil
}

// byValue returns the rest of a list by an index of what it tests: the ids of all rows
// that pass are sorted.
func (l *list[T]) byValue(index string, lanes []filter, also ...filter) func(*conn, petstore.Page) (*statement, error) {
	ids := &list[T]{columns: "id", table: l.table, index: index, workspace: l.workspace, lanes: lanes, tests: append(slices.Clip(l.tests), also...)}
	return func(_ *conn, p petstore.Page) (*statement, error) {
		matches := ids.query(p, false)
		s := &statement{args: matches.args}
		_, by := order(p)
		s.WriteString("SELECT " + l.columns + " FROM " + l.table + " WHERE workspace=+?1 AND id IN (" + matches.String() + ") ORDER BY id" + by)
		return s, nil
	}
}

// read runs the list on a connection of db. The end of ctx interrupts one that tests rows.
func (l *list[T]) read(ctx context.Context, db *DB) (page []T, err error) {
	run := func(c *conn) (err error) {
		page, err = l.run(c)
		return err
	}
	if l.rest != nil { // between its statements no row may change its place
		run = snapshot(run)
	}
	if len(l.tests) > 0 {
		err = db.readLong(ctx, run)
	} else {
		err = db.read(ctx, run)
	}
	return page, err
}

// statusLanes returns a lane for each status that is asked for. If none is, that is no
// lane, unless an index needs them.
func statusLanes(asked []petstore.Status, needed bool) (lanes []filter) {
	if len(asked) == 0 && needed {
		asked = petstore.Statuses()
	}
	for _, s := range asked {
		if lane := (filter{byStatus, string(s)}); !slices.Contains(lanes, lane) {
			lanes = append(lanes, lane)
		}
	}
	return lanes
}
