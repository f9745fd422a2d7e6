package postgres

import (
	"regexp"
	"strconv"
	"strings"

	"example.com/petstore/internal/store"
	"github.com/jackc/pgx/v5"
)

// batchOf returns a batch as the driver has it. Rows that are inserted one after the other
// by the same statement are inserted by few: the server spends more on a statement than on
// a row.
func batchOf(b *store.Batch) *pgx.Batch {
	all := new(pgx.Batch)
	for rest := b.Statements; len(rest) > 0; {
		s := rest[0]
		if n := inserted(rest); n > 1 {
			all.Queue(insertRows(s.Query, n), allArgs(rest[:n])...)
			rest = rest[n:]
			continue
		}
		q := all.Queue(s.Query, s.Args...)
		if s.Row != nil {
			q.Query(each(func(row pgx.Rows) error { return s.Row(row) }))
		}
		rest = rest[1:]
	}
	return all
}

// mostRows is how many rows one statement inserts at most.
const mostRows = 64

// inserted returns how many of the first statements can be one. It is a power of two, since
// the server prepares a statement for each number of rows.
func inserted(s []store.Statement) int {
	if s[0].Row != nil || !strings.HasPrefix(s[0].Query, "INSERT ") || !strings.HasSuffix(s[0].Query, ")") {
		return 1
	}
	same := 1
	for same < len(s) && same < mostRows && s[same].Query == s[0].Query {
		same++
	}
	n := 1
	for 2*n <= same {
		n *= 2
	}
	return n
}

var parameter = regexp.MustCompile(`\$[0-9]+`)

// insertRows returns the statement that inserts n rows in place of one.
func insertRows(query string, n int) string {
	head, row, _ := strings.Cut(query, "VALUES ")
	columns := 0
	for _, p := range parameter.FindAllString(row, -1) {
		number, _ := strconv.Atoi(p[1:])
		columns = max(columns, number)
	}
	rows := make([]string, n)
	for i := range rows {
		rows[i] = parameter.ReplaceAllStringFunc(row, func(p string) string {
			number, _ := strconv.Atoi(p[1:])
			return "$" + strconv.Itoa(i*columns+number)
		})
	}
	return head + "VALUES " + strings.Join(rows, ", ")
}

func allArgs(s []store.Statement) []any {
	args := make([]any, 0, len(s)*len(s[0].Args))
	for i := range s {
		args = append(args, s[i].Args...)
	}
	return args
}
