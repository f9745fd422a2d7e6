package postgres

import (
	"context"
	"time"
)

// forgetAtOnce bounds a call of Forget, so that it does not hold up writers.
const forgetAtOnce = 2000

// Forget implements [petstore.Store]. Several nodes may do it at once: each
// leaves alone what another one is removing.
func (db *DB) Forget(ctx context.Context, before time.Time) (int, error) {
	tag, err := db.writer.Exec(ctx, `DELETE FROM receipts WHERE ctid = ANY (ARRAY(
		SELECT ctid FROM receipts WHERE created_at < $1 ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED))`,
		before.UnixMilli(), forgetAtOnce)
	if err != nil {
		return 0, judge(err)
	}
	return int(tag.RowsAffected()), nil
}
