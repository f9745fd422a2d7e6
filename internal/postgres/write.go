package postgres

import (
	"cmp"
	"maps"
	"slices"

	"example.com/petstore/internal/petstore"
	"github.com/jackc/pgx/v5"
)

const (
	// Receipts that are out of date make way for new ones. One that is not was
	// written by another node meanwhile: then the insert fails, and the change
	// is decided anew.
	dropOldReceipts = `DELETE FROM receipts r USING unnest($1::bigint[], $2::text[], $3::text[]) AS n (workspace, operation, key)
		WHERE r.workspace = n.workspace AND r.operation = n.operation AND r.key = n.key AND r.created_at <= $4`

	insertReceipts = `INSERT INTO receipts (workspace, operation, key, created_at, row_id, fingerprint, body)
		SELECT n.workspace, n.operation, n.key, $4, n.row_id, n.fingerprint, n.body
		FROM unnest($1::bigint[], $2::text[], $3::text[], $5::bigint[], $6::bytea[], $7::bytea[])
			AS n (workspace, operation, key, row_id, fingerprint, body)`
)

func compareRowIDs(a, b rowID) int {
	return cmp.Or(cmp.Compare(a.workspace, b.workspace), cmp.Compare(a.id, b.id))
}

// inOrder returns the keys of rows, ascending, and the same as columns.
func inOrder[T any](rows map[rowID]*T) ([]rowID, keys) {
	ids := slices.SortedFunc(maps.Keys(rows), compareRowIDs)
	return ids, columnsOf(ids)
}

// column returns one value of every row.
func column[T, V any](rows map[rowID]*T, ids []rowID, value func(*T) V) []V {
	values := make([]V, len(ids))
	for i, id := range ids {
		values[i] = value(rows[id])
	}
	return values
}

// optional returns NULL unless the value is there.
func optional(value int64, there bool) *int64 {
	if !there {
		return nil
	}
	return &value
}

func queueDrop(b *pgx.Batch, query string, ids []rowID) {
	if len(ids) > 0 {
		k := sorted(ids)
		b.Queue(query, k.workspaces, k.ids)
	}
}

// receipts are the members that leave one.
type receipts []*member

func (rs receipts) queue(b *pgx.Batch, lived petstore.Time) {
	if len(rs) == 0 {
		return
	}
	slices.SortFunc(rs, func(a, b *member) int { return idOf(a.Job.change).compare(idOf(b.Job.change)) })
	n := len(rs)
	workspaces, rowIDs := make([]int64, n), make([]int64, n)
	operations, keys := make([]string, n), make([]string, n)
	fingerprints, bodies := make([][]byte, n), make([][]byte, n)
	for i, m := range rs {
		workspaces[i], operations[i], keys[i] = m.Job.change.Workspace, m.Job.change.Idempotency.Operation, m.Job.change.Idempotency.Key
		fingerprints[i], rowIDs[i], bodies[i] = m.Job.change.Idempotency.Fingerprint[:], m.receipt.ID, m.receipt.Body
		if bodies[i] == nil {
			bodies[i] = []byte{} // nil would be NULL
		}
	}
	b.Queue(dropOldReceipts, workspaces, operations, keys, lived.Millis-petstore.KeepReceipts.Milliseconds())
	b.Queue(insertReceipts, workspaces, operations, keys, lived.Millis, rowIDs, fingerprints, bodies)
}

func (r receiptID) compare(s receiptID) int {
	return cmp.Or(cmp.Compare(r.workspace, s.workspace), cmp.Compare(r.operation, s.operation), cmp.Compare(r.key, s.key))
}
