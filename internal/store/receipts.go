package store

import (
	"context"

	"example.com/petstore/internal/petstore"
)

const (
	selectReceipt = "SELECT fingerprint, created_at, row_id, body FROM receipts WHERE workspace = $1 AND operation = $2 AND key = $3"
	saveReceipt   = `INSERT INTO receipts (workspace, operation, key, fingerprint, row_id, body, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7)
		ON CONFLICT (workspace, operation, key) DO UPDATE SET
		fingerprint = excluded.fingerprint, row_id = excluded.row_id, body = excluded.body, created_at = excluded.created_at`
)

// A receiptID is the key of a receipt.
type receiptID struct {
	workspace      int64
	operation, key string
}

func idOf(c *petstore.Change) receiptID {
	return receiptID{c.Workspace, c.Idempotency.Operation, c.Idempotency.Key}
}

// A storedReceipt is a row of receipts.
type storedReceipt struct {
	petstore.Receipt
	fingerprint [32]byte
	created     petstore.Time
}

func scanReceipt(row Row, r *storedReceipt) error {
	r.created.Valid = true
	return scan(row, &r.fingerprint, &r.created.Millis, &r.ID, &r.Body)
}

// keepReceipt adds the statement that stores a receipt, in place of an old one that has
// expired.
func keepReceipt(b *Batch, id receiptID, kept *storedReceipt) {
	body := kept.Body
	if body == nil {
		body = []byte{} // nil would be NULL
	}
	b.Exec(saveReceipt, id.workspace, id.operation, id.key, kept.fingerprint[:], kept.ID, body, kept.created.Millis)
}

// once calls do, unless that was done before with the same idempotency key: then it returns the
// answer of that time. Without a key it always calls do. What changes no shop is under the negative
// id of its workspace: the id itself is also that of the first shop, whose receipts a reset removes.
func once(tx Tx, workspace int64, i *petstore.Idempotency, now petstore.Time, do func() ([]byte, error)) (answer []byte, before bool, err error) {
	if i == nil {
		answer, err = do()
		return answer, false, err
	}
	var old storedReceipt
	found, err := First(tx, selectReceipt, func(row Row) error { return scanReceipt(row, &old) }, workspace, i.Operation, i.Key)
	if err == nil && found {
		before, err = i.Replay(old.fingerprint, old.created, now)
	}
	if err != nil || before {
		return old.Body, before, err
	}
	if answer, err = do(); err != nil {
		return nil, false, err
	}
	var b Batch
	keepReceipt(&b, receiptID{workspace, i.Operation, i.Key}, &storedReceipt{petstore.Receipt{Body: answer}, i.Fingerprint, now})
	return answer, false, tx.Run(&b)
}

// formAnswers is the operation of receipts for forms that were sent to a console.
const formAnswers = "form's answer"

// FormAnswer implements [access.Store].
func (s *Store) FormAnswer(ctx context.Context, workspace int64, form string) ([]byte, error) {
	return read(ctx, s, func(tx Tx) ([]byte, error) {
		var kept storedReceipt
		_, err := First(tx, selectReceipt, func(row Row) error { return scanReceipt(row, &kept) }, -workspace, formAnswers, form)
		return kept.Body, err
	})
}

// KeepFormAnswer implements [access.Store].
func (s *Store) KeepFormAnswer(ctx context.Context, workspace int64, form string, answer []byte) error {
	return s.db.Change(ctx, func(tx Tx) error {
		_, _, err := once(tx, -workspace, &petstore.Idempotency{Operation: formAnswers, Key: form}, petstore.At(s.now()), func() ([]byte, error) {
			return answer, nil
		})
		return err
	})
}

// Forget implements [petstore.Store]. It also removes the limiter's windows of old
// days.
func (s *Store) Forget(ctx context.Context) (removed int, err error) {
	if err := s.db.WriteBulk(ctx, 0, s.forgetWindows); err != nil {
		return 0, err
	}
	return s.steps(ctx, DeleteSome("receipts", "workspace, operation, key", "created_at < $1 ORDER BY created_at LIMIT $2"),
		s.now().Add(-petstore.KeepReceipts).UnixMilli(), stepRows)
}
