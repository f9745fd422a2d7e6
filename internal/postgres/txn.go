package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// A txn is a transaction of a rare write, which is carried out alone.
type txn struct {
	pgx.Tx
	ctx context.Context //nolint:containedctx // it lives as long as the transaction, and every statement needs it
}

// change calls f in a transaction and commits it, again if it met another one
// or its connection was lost before the commit was on its way.
func (db *DB) change(ctx context.Context, f func(*txn) error) (err error) {
	for n := range attempts {
		var sent bool
		sent, err = db.changeOnce(ctx, f)
		db.leaveReplica(err)
		if err == nil || !again(err, sent, 1) || pause(ctx, n) != nil {
			break
		}
		db.counted.retries.Add(1)
	}
	return judge(err)
}

func (db *DB) changeOnce(ctx context.Context, f func(*txn) error) (sent bool, err error) {
	c, err := db.writer.Acquire(ctx)
	if err != nil {
		return false, err
	}
	defer c.Release() // not before the warning is read
	tx, err := c.Begin(ctx)
	if err != nil {
		return false, err
	}
	custom := c.Conn().PgConn().CustomData()
	delete(custom, warned)
	if err := f(&txn{tx, ctx}); err != nil {
		_ = tx.Rollback(context.WithoutCancel(ctx)) // else the connection is closed, which is as good
		return false, err
	}
	if err := tx.Commit(ctx); err != nil {
		return true, err
	}
	if _, ok := custom[warned]; ok {
		return true, errUnconfirmed
	}
	return true, nil
}

func (x *txn) exec(query string, args ...any) error {
	_, err := x.Exec(x.ctx, query, args...)
	return err
}

// instantOf reads a column that holds milliseconds, or NULL for the zero time.
func instantOf(millis *int64) time.Time {
	if millis == nil {
		return time.Time{}
	}
	return time.UnixMilli(*millis).UTC()
}
