package store

import (
	"fmt"
	"strings"
)

// A table says how its rows are written. Its last two columns are the id and the
// workspace, by which a row is found.
type table[T any] struct {
	name    string
	columns []string
	insert  string                              // with the values of a row
	update  string                              // with the values of a row
	remove  string                              // with the id and the workspace
	values  func(workspace int64, row *T) []any // in the order of the columns
}

func newTable[T any](name, columns string, values func(workspace int64, row *T) []any) *table[T] {
	t := &table[T]{name: name, columns: strings.Split(columns+", id, workspace", ", "), values: values}
	var places, sets []string
	for i, column := range t.columns {
		places = append(places, fmt.Sprintf("$%d", i+1))
		sets = append(sets, fmt.Sprintf("%s = $%d", column, i+1))
	}
	n := len(sets) - 2
	t.insert = fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", name, strings.Join(t.columns, ", "), strings.Join(places, ", "))
	t.update = fmt.Sprintf("UPDATE %s SET %s WHERE %s", name, strings.Join(sets[:n], ", "), strings.Join(sets[n:], " AND "))
	t.remove = fmt.Sprintf("DELETE FROM %s WHERE id = $1 AND workspace = $2", name)
	return t
}

// optional returns the value, or NULL unless it is there.
func optional(value int64, there bool) any {
	if !there {
		return nil
	}
	return value
}
