package sqlite

import (
	"example.com/petstore/internal/petstore"
	"zombiezen.com/go/sqlite"
)

const selectReceipt = "SELECT fingerprint, created_at, row_id, body FROM receipts WHERE workspace=? AND operation=? AND key=?"

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
