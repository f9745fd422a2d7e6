package store

import (
	"fmt"
	"strings"
)

// A table says how its rows are written. Its last two columns are the id and the
// workspace, by which a row is found.
type table[T any] struct {
	name           string
	columns        []string
	insert, update rowStatement                        // with the values of a row
	remove         string                              // with the id and the workspace
	values         func(workspace int64, row *T) []any // in the order of the columns
}

// A rowStatement writes one row, whose values are its arguments, or all of many: then its
// arguments are arrays, one for each column.
type rowStatement struct{ one, all string }

// newTable returns the table with the columns. They are bigint unless another type is said.
func newTable[T any](name, columns string, values func(workspace int64, row *T) []any) *table[T] {
	t := &table[T]{name: name, values: values}
	var places, arrays, sets, news []string
	for i, column := range strings.Split(columns+", id, workspace", ", ") {
		column, kind, said := strings.Cut(column, " ")
		if !said {
			kind = "bigint"
		}
		t.columns = append(t.columns, column)
		places = append(places, fmt.Sprintf("$%d", i+1))
		arrays = append(arrays, fmt.Sprintf("$%d::%s[]", i+1, kind))
		sets = append(sets, fmt.Sprintf("%s = $%d", column, i+1))
		news = append(news, column+" = n."+column)
	}
	n, all := len(sets)-2, strings.Join(t.columns, ", ")
	from := "unnest(" + strings.Join(arrays, ", ") + ") AS n (" + all + ")"
	t.insert = rowStatement{
		fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", name, all, strings.Join(places, ", ")),
		fmt.Sprintf("INSERT INTO %s (%s) SELECT * FROM %s", name, all, from),
	}
	t.update = rowStatement{
		fmt.Sprintf("UPDATE %s SET %s WHERE %s", name, strings.Join(sets[:n], ", "), strings.Join(sets[n:], " AND ")),
		fmt.Sprintf("UPDATE %s t SET %s FROM %s WHERE t.id = n.id AND t.workspace = n.workspace", name, strings.Join(news[:n], ", "), from),
	}
	t.remove = fmt.Sprintf("DELETE FROM %s WHERE id = $1 AND workspace = $2", name)
	return t
}

// write adds what writes the rows: a statement for each, or one for all of them.
func (d *Dialect) write(b *Batch, s rowStatement, rows [][]any) {
	if !d.Arrays || len(rows) < 2 {
		for _, values := range rows {
			b.Exec(s.one, values...)
		}
		return
	}
	arrays := make([]any, len(rows[0]))
	for i := range arrays {
		column := make([]any, len(rows))
		for j, values := range rows {
			column[j] = values[i]
		}
		arrays[i] = column
	}
	b.Exec(s.all, arrays...)
}

// optional returns the value, or NULL unless it is there.
func optional(value int64, there bool) any {
	if !there {
		return nil
	}
	return value
}
