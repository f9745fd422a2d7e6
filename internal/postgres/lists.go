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
// that a page is read in order wherever it begins; the others are tested row by
// row in the order of ids.
const (
	byStatus      = " AND status = %s"
	byCategory    = " AND category = %s"
	byName        = " AND strpos(folded, %s) > 0"
	byMaxQuantity = " AND quantity <= %s"
	byPet         = " AND pet = %s"
	byComplete    = " AND complete = %s"
	shipsFrom     = " AND ship_date >= %s"
	shipsTo       = " AND ship_date <= %s"
)

// Beside ids no other index is any good; the expressions keep it out of sight.
const (
	byID            = " AND id = ANY(%s)"
	besideIDsStatus = " AND status || '' = ANY(%s)"
	besideIDsOf     = " AND category + 0 = %s"
)

// A list is a query for one page.
type list[T any] struct {
	from      string // SELECT … FROM …
	workspace int64
	page      petstore.Page
	filters   []filter
	lanes     []filter // alternatives, each in the order of ids; none for no such condition
	scan      func(pgx.Row, *T) error
}

// sql returns the text of the query and its arguments. Several lanes are merged
// by id.
func (l *list[T]) sql() (string, []any) {
	args := []any{l.workspace, l.page.After, l.page.Limit}
	if len(l.lanes) == 0 {
		return l.lane(nil, &args), args
	}
	lanes := make([]string, len(l.lanes))
	for i := range l.lanes {
		lanes[i] = l.lane(l.lanes[i:i+1], &args)
	}
	if len(lanes) == 1 {
		return lanes[0], args
	}
	return "SELECT * FROM ((" + strings.Join(lanes, ") UNION ALL (") + ")) lanes ORDER BY id LIMIT $3", args
}

// lane returns the query of one lane and appends its arguments.
func (l *list[T]) lane(lane []filter, args *[]any) string {
	var text strings.Builder
	text.WriteString(l.from)
	text.WriteString(" WHERE workspace = $1 AND id > $2")
	for _, filters := range [][]filter{lane, l.filters} {
		for _, f := range filters {
			*args = append(*args, f.arg)
			fmt.Fprintf(&text, f.sql, fmt.Sprintf("$%d", len(*args)))
		}
	}
	text.WriteString(" ORDER BY id LIMIT $3")
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
	err = db.read(ctx, l.workspace, func(c *pgxpool.Conn) error {
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
func statusLanes(asked []petstore.Status, needed bool) []filter {
	if len(asked) == 0 {
		if !needed {
			return nil
		}
		asked = petstore.Statuses()
	}
	lanes := make([]filter, 0, len(asked))
	for _, s := range asked {
		lane := filter{byStatus, string(s)}
		if !slices.Contains(lanes, lane) {
			lanes = append(lanes, lane)
		}
	}
	return lanes
}
