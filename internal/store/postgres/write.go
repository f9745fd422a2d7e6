package postgres

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// A table says how its rows are written. Its first two columns are the workspace and the
// id in it, which name a row to update or to delete.
type table[T any] struct {
	name                  string
	columns               []string
	insert, update, erase string
	values                func(workspace int64, row *T) []any // in the order of the columns
}

func newTable[T any](name, columns string, values func(workspace int64, row *T) []any) *table[T] {
	t := &table[T]{name: name, columns: strings.Split(columns, ", "), values: values}
	var places, sets []string
	for i, column := range t.columns {
		places = append(places, fmt.Sprintf("$%d", i+1))
		if i >= 2 {
			sets = append(sets, fmt.Sprintf("%s = $%d", column, i+1))
		}
	}
	key := fmt.Sprintf("%s = $1 AND %s = $2", t.columns[0], t.columns[1])
	t.insert = fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", name, columns, strings.Join(places, ", "))
	t.update = fmt.Sprintf("UPDATE %s SET %s WHERE %s", name, strings.Join(sets, ", "), key)
	t.erase = fmt.Sprintf("DELETE FROM %s WHERE %s", name, key)
	return t
}

// queue queues a statement for each row, in the order of the keys.
func (t *table[T]) queue(b *pgx.Batch, statement string, rows map[rowID]*T) {
	for _, id := range inOrder(rows) {
		b.Queue(statement, t.values(id.workspace, rows[id])...)
	}
}

func (t *table[T]) queueErase(b *pgx.Batch, ids []rowID) {
	for _, id := range ids {
		b.Queue(t.erase, id.workspace, id.id)
	}
}

// fill writes many new rows.
func (t *table[T]) fill(ctx context.Context, tx pgx.Tx, rows [][]any) error {
	if len(rows) == 0 {
		return nil
	}
	_, err := tx.CopyFrom(ctx, pgx.Identifier{schema, t.name}, t.columns, pgx.CopyFromRows(rows))
	return err
}

// rows returns the values of all rows, in the order of the keys.
func (t *table[T]) rows(of map[rowID]*T) [][]any {
	var all [][]any
	for _, id := range inOrder(of) {
		all = append(all, t.values(id.workspace, of[id]))
	}
	return all
}

func compareRowIDs(a, b rowID) int {
	return cmp.Or(cmp.Compare(a.workspace, b.workspace), cmp.Compare(a.id, b.id))
}

// inOrder returns the keys of rows, ascending.
func inOrder[T any](rows map[rowID]*T) []rowID {
	return slices.SortedFunc(maps.Keys(rows), compareRowIDs)
}

// optional returns NULL unless the value is there.
func optional(value int64, there bool) *int64 {
	if !there {
		return nil
	}
	return &value
}

const (
	eraseReceipt = "DELETE FROM receipts WHERE workspace = $1 AND operation = $2 AND key = $3 AND created_at = $4"

	insertReceipt = `INSERT INTO receipts (workspace, operation, key, created_at, row_id, fingerprint, body)
		VALUES ($1, $2, $3, $4, $5, $6, $7)`
)

// queueNewReceipts queues the receipts of the changes that leave one, in the order of their
// keys: other nodes may be writing the same. One that was out of date when it was loaded
// makes way. If another node has written one meanwhile, the insert fails, and the change
// is decided anew.
func (g *group) queueNewReceipts(b *pgx.Batch, changes []*groupedChange) {
	slices.SortFunc(changes, func(a, b *groupedChange) int { return idOf(a.Job.change).compare(idOf(b.Job.change)) })
	for _, m := range changes {
		id, body := idOf(m.Job.change), m.receipt.Body
		if body == nil {
			body = []byte{} // nil would be NULL
		}
		if old, there := g.receipts[id]; there {
			b.Queue(eraseReceipt, id.workspace, id.operation, id.key, old.created.Millis)
		}
		b.Queue(insertReceipt, id.workspace, id.operation, id.key, g.lived.Millis, m.receipt.ID, m.Job.change.Idempotency.Fingerprint[:], body)
	}
}

func (r receiptID) compare(s receiptID) int {
	return cmp.Or(cmp.Compare(r.workspace, s.workspace), cmp.Compare(r.operation, s.operation), cmp.Compare(r.key, s.key))
}
