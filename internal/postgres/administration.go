package postgres

import (
	"context"
	"time"

	"example.com/petstore/internal/access"
	"github.com/jackc/pgx/v5"
)

// A txn is a transaction of a change of access: rare, and carried out alone.
type txn struct {
	pgx.Tx
	ctx context.Context //nolint:containedctx // it lives as long as the transaction, and every statement needs it
	now time.Time
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
	if err := f(&txn{tx, ctx, db.now()}); err != nil {
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

// lockAccess waits for other changes of access, so that their states are in the
// order of their commits, and tells the nodes after the commit.
func (x *txn) lockAccess() error {
	if err := x.exec("SELECT pg_advisory_xact_lock($1)", accessLock); err != nil {
		return err
	}
	return x.exec("SELECT pg_notify($1, '')", channel)
}

// lockShop waits for the groups that are writing to the workspace, and keeps
// new ones from it.
func (x *txn) lockShop(workspace int64) error {
	return x.exec("SELECT pg_advisory_xact_lock($1)", workspaceLocks+workspace)
}

// nextState returns the number to stamp on the rows of a change of access.
func (x *txn) nextState() (state int64, err error) {
	err = x.QueryRow(x.ctx, "UPDATE access_state SET state = state + 1 RETURNING state").Scan(&state)
	return state, err
}

// audit writes a line of the audit log.
func (x *txn) audit(by access.Actor, action, subject, detail string) error {
	return x.exec("INSERT INTO audit (at, actor, action, subject, detail) VALUES ($1, $2, $3, $4, $5)",
		x.now.UnixMilli(), string(by), action, subject, detail)
}

// instantOf reads a column that holds milliseconds, or NULL for the zero time.
func instantOf(millis *int64) time.Time {
	if millis == nil {
		return time.Time{}
	}
	return time.UnixMilli(*millis).UTC()
}

// millis is what instantOf reads.
func millis(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	m := t.UnixMilli()
	return &m
}
