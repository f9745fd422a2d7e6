package sqlite

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"example.com/petstore/internal/petstore"
	"zombiezen.com/go/sqlite"
)

// A filter is a condition on a list and its argument.
type filter struct {
	sql string
	arg any
}

// The filters. An equality comes with an index in which the ids follow it, so
// that a page is read in order wherever it begins; the others are tested row by
// row in the order of ids, but for those that an index of values has.
const (
	byStatus      = " AND status=?"
	notStatus     = " AND status<>?"
	byCategory    = " AND category=?"
	byName        = " AND instr(folded,?)>0"
	byMaxQuantity = " AND quantity<=?"
	byLowStock    = " AND quantity<=? AND quantity<=100" // which names what the index has
	byPet         = " AND pet=?"
	byComplete    = " AND complete=?"
	shipsFrom     = " AND ship_date>=?"
	shipsTo       = " AND ship_date<=?"
	upTo          = " AND id<=?"
	downTo        = " AND id>=?"
)

// A list is a query for one page.
type list[T any] struct {
	from      string // SELECT … FROM …
	index     string // the index that has the ids in order after the equalities; "" for the primary key
	workspace int64
	page      petstore.Page
	filters   []filter
	lanes     []filter     // alternatives, each in the order of ids; none for no such condition
	values    *list[int64] // the ids of the same rows, by an index of values; nil if there is none
	scan      func(*sqlite.Stmt) T
	id        func(T) int64
}

// sql returns the text of the query with the filters and one lane.
func (l *list[T]) sql(lane []filter) string {
	var text strings.Builder
	text.Grow(256)
	text.WriteString(l.from)
	if l.index != "" { // left to itself, SQLite takes the primary key and reads past every other row
		text.WriteString(" INDEXED BY ")
		text.WriteString(l.index)
	}
	beyond, order := " AND id>?", " ORDER BY id LIMIT ?"
	if l.page.Newest {
		beyond, order = " AND id<?", " ORDER BY id DESC LIMIT ?"
	}
	text.WriteString(" WHERE workspace=?" + beyond)
	for _, f := range lane {
		text.WriteString(f.sql)
	}
	for _, f := range l.filters {
		text.WriteString(f.sql)
	}
	text.WriteString(order)
	return text.String()
}

// run returns the page. Several lanes are merged by id.
func (l *list[T]) run(c *conn) ([]T, error) {
	if l.page.Limit <= 0 {
		return []T{}, nil
	}
	l.page = l.page.Start()
	if l.values != nil {
		return l.byValue(c)
	}
	out := make([]T, 0, min(l.page.Limit, petstore.MaxPage+1))
	if len(l.lanes) == 0 {
		return l.lane(c, out, nil)
	}
	for i := range l.lanes {
		var err error
		if out, err = l.lane(c, out, l.lanes[i:i+1]); err != nil {
			return nil, err
		}
	}
	if len(l.lanes) > 1 {
		slices.SortFunc(out, func(a, b T) int { return cmp.Compare(l.id(a), l.id(b)) })
		if l.page.Newest {
			slices.Reverse(out)
		}
		out = out[:min(len(out), l.page.Limit)]
	}
	return out, nil
}

// nearby is how many ids are tested one by one before an index of values is asked.
// Where many rows match the page is full then.
const nearby = 500

// byValue returns the page of a list with an index of values: where few rows match
// all of their ids are sorted.
func (l *list[T]) byValue(c *conn) ([]T, error) {
	near := *l
	begin, err := l.begin(c)
	if err != nil {
		return nil, err
	}
	end, inReach := stretch(begin, nearby)
	near.values, near.filters = nil, append(slices.Clip(l.filters), inReach)
	page, err := near.run(c)
	if err != nil || len(page) == l.page.Limit {
		return page, err
	}
	far := *l.values
	far.page = petstore.Page{After: end, Limit: l.page.Limit - len(page), Newest: l.page.Newest}
	ids, err := far.run(c)
	query := l.from + " WHERE workspace=?1 AND id=?2"
	for i := 0; err == nil && i < len(ids); i++ {
		var row *T
		if row, err = find(c, query, l.workspace, ids[i], l.scan); row != nil {
			page = append(page, *row)
		}
	}
	return page, err
}

// begin returns the page with an id in After that rows are near to.
func (l *list[T]) begin(c *conn) (petstore.Page, error) {
	p := l.page.Start()
	if p.After < math.MaxInt64 {
		return p, nil
	}
	newest := list[T]{
		from: l.from, workspace: l.workspace, page: petstore.Page{Limit: 1, Newest: true}, scan: l.scan, id: l.id,
	}
	rows, err := newest.run(c)
	if len(rows) > 0 {
		p.After = l.id(rows[0]) + 1
	}
	return p, err
}

// stretch returns the last of the next n ids of a page, and the filter for those up to it.
func stretch(p petstore.Page, n int64) (end int64, within filter) {
	if p.Newest {
		end = max(p.After-n, 1)
		return end, filter{downTo, end}
	}
	end = min(p.After, petstore.MaxID) + n
	return end, filter{upTo, end}
}

// idsOf returns the list of ids of a table by an index of values.
func idsOf(table, index string, workspace int64, lanes []filter, filters ...filter) *list[int64] {
	return &list[int64]{
		from: "SELECT id FROM " + table, index: index, workspace: workspace, lanes: lanes, filters: filters,
		scan: scanInt, id: func(id int64) int64 { return id },
	}
}

// lane appends the page of one lane.
func (l *list[T]) lane(c *conn, out []T, lane []filter) ([]T, error) {
	stmt, err := c.ints(l.sql(lane), l.workspace, l.page.After)
	if err != nil {
		return out, err
	}
	i := 3
	for _, fs := range [][]filter{lane, l.filters} {
		for _, f := range fs {
			bind(stmt, i, f.arg)
			i++
		}
	}
	bind(stmt, i, l.page.Limit)
	err = rows(stmt, func(row *sqlite.Stmt) { out = append(out, l.scan(row)) })
	return out, err
}

// read runs the list on a connection of db; one that tests row by row can be
// interrupted.
func (l *list[T]) read(ctx context.Context, db *DB) (out []T, err error) {
	read := db.read
	for _, f := range l.filters {
		if f.sql == byName || f.sql == byMaxQuantity || f.sql == shipsFrom || f.sql == shipsTo {
			read = db.readLong
		}
	}
	run := func(c *conn) (err error) {
		out, err = l.run(c)
		return err
	}
	if len(l.lanes) > 1 || l.values != nil { // several searches, between which no row may change its place
		run = snapshot(run)
	}
	err = read(ctx, run)
	return out, err
}

// statusLanes returns a lane for each status asked for. Nobody asking is no
// lane, unless an index needs one.
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

// statusTests returns the same condition, as tests of a row.
func statusTests(asked []petstore.Status) (tests []filter) {
	for _, s := range petstore.Statuses() {
		if len(asked) > 0 && !slices.Contains(asked, s) {
			tests = append(tests, filter{notStatus, string(s)})
		}
	}
	return tests
}
