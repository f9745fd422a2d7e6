package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"example.com/petstore/internal/petstore"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// A filter is a condition on a list, with %s for its argument.
type filter struct {
	sql string
	arg any
}

// The filters. An equality comes with an index in which the ids follow it, so
// that a page is read in order wherever it begins. The others are tested row by row,
// if an index does not have them.
const (
	byStatus      = " AND status = %s"
	byStatuses    = " AND status = ANY(%s)"
	byCategory    = " AND category = %s"
	byName        = " AND strpos(folded, %s) > 0"
	byTrigrams    = " AND folded LIKE %s" // beside byName
	byMaxQuantity = " AND quantity <= %s"
	byPet         = " AND pet = %s"
	byComplete    = " AND complete = %s"
	shipsFrom     = " AND ship_date >= %s"
	shipsTo       = " AND ship_date <= %s"
)

// Beside a pet its index is the best; the expressions keep that of ship dates out of sight.
const (
	besidePetFrom = " AND ship_date + 0 >= %s"
	besidePetTo   = " AND ship_date + 0 <= %s"
)

// Beside ids no other index is any good; the expressions keep it out of sight.
const (
	byID            = " AND id = ANY(%s)"
	besideIDsStatus = " AND status || '' = ANY(%s)"
	besideIDsOf     = " AND category + 0 = %s"
)

// A list is a query for one page.
type list[T any] struct {
	columns   string // as scan reads them
	table     string
	workspace int64
	page      petstore.Page
	filters   []filter
	lanes     []filter // alternatives, each in the order of ids; none for no such condition
	far       bool     // a filter has an index that does not have the ids in order, and there are no lanes
	scan      func(pgx.Row, *T) error
}

// sql returns the text of the query and its arguments. Several lanes are merged
// by id.
func (l *list[T]) sql() (string, []any) {
	args := []any{l.workspace, l.page.Start().After, l.page.Limit}
	switch {
	case l.far:
		return l.text(nearAndFar, l.conditions(l.filters, &args)), args
	case len(l.lanes) == 0:
		return l.lane(nil, &args), args
	}
	lanes := make([]string, len(l.lanes))
	for i := range l.lanes {
		lanes[i] = l.lane(l.lanes[i:i+1], &args)
	}
	if len(lanes) == 1 {
		return lanes[0], args
	}
	return l.text("SELECT * FROM (("+strings.Join(lanes, ") UNION ALL (")+")) lanes ORDER BY id{desc} LIMIT $3", ""), args
}

// nearAndFar is for filters with an index that does not have the ids in order: where
// many rows match, to sort all their ids would take longer than to look for a page of
// them. So the next rows by id are tested first. Only if those do not fill the page
// the index is asked; "id + 0" keeps the planner from reading row after row by id, in
// the hope that some match soon.
const nearAndFar = `WITH near AS MATERIALIZED (SELECT {columns} FROM (
		SELECT * FROM {table} WHERE workspace = $1 AND id {beyond} $2 ORDER BY id{desc} LIMIT 4000) nearby
	WHERE true{tests} ORDER BY id{desc} LIMIT $3)
SELECT * FROM ((SELECT * FROM near WHERE (SELECT count(*) FROM near) = $3) UNION ALL (
	SELECT {columns} FROM {table} WHERE workspace = $1 AND id {beyond} $2{tests} AND (SELECT count(*) FROM near) < $3
	ORDER BY id + 0{desc} LIMIT $3)) found ORDER BY id{desc} LIMIT $3`

// lane returns the query of one lane and appends its arguments.
func (l *list[T]) lane(lane []filter, args *[]any) string {
	tests := l.conditions(lane, args) + l.conditions(l.filters, args)
	return l.text("SELECT {columns} FROM {table} WHERE workspace = $1 AND id {beyond} $2{tests} ORDER BY id{desc} LIMIT $3", tests)
}

// text fills in a query.
func (l *list[T]) text(query, tests string) string {
	beyond, desc := ">", ""
	if l.page.Newest {
		beyond, desc = "<", " DESC"
	}
	return strings.NewReplacer("{columns}", l.columns, "{table}", l.table, "{tests}", tests, "{beyond}", beyond, "{desc}", desc).Replace(query)
}

// conditions returns the text of filters and appends their arguments.
func (l *list[T]) conditions(filters []filter, args *[]any) string {
	var text strings.Builder
	for _, f := range filters {
		*args = append(*args, f.arg)
		fmt.Fprintf(&text, f.sql, fmt.Sprintf("$%d", len(*args)))
	}
	return text.String()
}

// read returns the page.
func (l *list[T]) read(ctx context.Context, db *DB) (page []T, err error) {
	if err := ctx.Err(); err != nil {
		return nil, petstore.Unavailable(err)
	}
	if l.page.Limit <= 0 || !l.possible() {
		return []T{}, nil
	}
	query, args := l.sql()
	err = db.read(ctx, func(c *pgxpool.Conn) error {
		page, err = collect(ctx, c, l.scan, query, args...)
		return err
	})
	if err != nil {
		return nil, err
	}
	return page, nil
}

// possible reports whether any text of the database can match: what it cannot
// hold, it does not hold.
func (l *list[T]) possible() bool {
	for _, f := range l.filters {
		if text, ok := f.arg.(string); ok && !storable(text) {
			return false
		}
	}
	return true
}

// storable reports whether PostgreSQL can hold the text at all.
func storable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsRune(text, 0)
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
