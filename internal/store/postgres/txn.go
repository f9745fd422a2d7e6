package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// change calls f in a transaction and commits it. It starts over if another transaction was
// in the way, or if the connection was lost before the commit was sent. It is for rare
// writes.
func (db *DB) change(ctx context.Context, f func(sqlTx) error) error {
	return db.retry(ctx, true, func() (bool, error) { return db.changeOnce(ctx, f) })
}

func (db *DB) changeOnce(ctx context.Context, f func(sqlTx) error) (sent bool, err error) {
	err = db.writer.AcquireFunc(ctx, func(c *pgxpool.Conn) error {
		return confirmed(c.Conn(), func() error {
			return pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
				err := f(sqlTx{ctx, tx})
				sent = err == nil
				return err
			})
		})
	})
	return sent, err
}

// confirmed calls commit, and returns errUnconfirmed if the server warns that the commit
// was not confirmed.
func confirmed(c *pgx.Conn, commit func() error) error {
	custom := c.PgConn().CustomData()
	delete(custom, warningKey)
	if err := commit(); err != nil {
		return err
	}
	if _, ok := custom[warningKey]; ok {
		return errUnconfirmed
	}
	return nil
}
