package sqlite

import (
	"context"
	"time"

	"example.com/petstore/internal/petstore"
	"zombiezen.com/go/sqlite"
)

// forgetAtOnce bounds a call of Forget, so that it does not hold up writers.
const forgetAtOnce = 2000

const (
	selectReceipt  = "SELECT fingerprint, created_at, row_id, body FROM receipts WHERE workspace=? AND operation=? AND key=?"
	deleteReceipts = `DELETE FROM receipts WHERE number IN
		(SELECT number FROM receipts WHERE created_at < ? ORDER BY created_at LIMIT ?)`
)

// receipt returns what the request was answered before, or nil.
func (c *conn) receipt(workspace int64, i *petstore.Idempotency, now petstore.Time) (*petstore.Receipt, error) {
	var (
		kept        petstore.Receipt
		fingerprint [32]byte
		created     petstore.Time
	)
	found, err := c.one(selectReceipt,
		func(row *sqlite.Stmt) {
			row.ColumnBytes(0, fingerprint[:])
			created = scanTime(row, 1)
			kept.ID = row.ColumnInt64(2)
			kept.Body = make([]byte, row.ColumnLen(3))
			row.ColumnBytes(3, kept.Body)
		}, workspace, i.Operation, i.Key)
	if err != nil || !found {
		return nil, err
	}
	again, err := i.Replay(fingerprint, created, now)
	if err != nil || !again {
		return nil, err
	}
	return &kept, nil
}

// keepReceipt keeps the answer, in place of one that is out of date.
func (c *conn) keepReceipt(workspace int64, i *petstore.Idempotency, r petstore.Receipt, now petstore.Time) error {
	return c.exec(`INSERT OR REPLACE INTO receipts (workspace, operation, key, fingerprint, row_id, body, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?)`, workspace, i.Operation, i.Key, i.Fingerprint[:], r.ID, r.Body, now.Millis)
}

// Forget implements [petstore.Store].
func (db *DB) Forget(ctx context.Context, before time.Time) (n int, err error) {
	err = db.change(ctx, func(c *conn) error {
		err := c.exec(deleteReceipts, before.UnixMilli(), forgetAtOnce)
		n = c.Changes()
		return err
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}
