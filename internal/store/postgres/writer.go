package postgres

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"example.com/petstore/internal/store"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// committers is how many groups a node carries out at once: while one waits for the
// disk, the next one is decided. More of them make smaller groups. A single one was
// faster with PostgreSQL on the same machine; with PostgreSQL on another machine, a
// simulation placed 20,000 orders a second with one, and 33,000 with two.
const committers = 2

// promptLock is how long a group waits for a lock, unless it is patient: longer than another
// group mostly takes.
const promptLock = 10 * time.Millisecond

// attempts is how often a write is tried at most.
const attempts = 5

// Group carries out a group, again until it is committed or has failed for good: BEGIN and
// what the group loads are one round trip, what it writes and COMMIT another.
func (a engine) Group(ctx context.Context, g *store.Group) error {
	ctx, cancel := context.WithTimeout(ctx, groupTimeout)
	defer cancel()
	return a.db.retry(ctx, attempts, func() (bool, error) {
		sent, err := a.db.try(ctx, g)
		if state(err) == stateLockNotAvailable && !g.Patient {
			err = store.ErrLocked
		}
		return sent, err
	})
}

// retry calls try until it succeeds or has failed for good, or for the last time. try reports whether
// its commit may have reached the server: then it is tried again only if the server has refused it.
func (db *DB) retry(ctx context.Context, times int, try func() (sent bool, err error)) error {
	for n := 1; ; n++ {
		sent, err := try()
		db.leaveReplica(err)
		again := severityOf(err) == conflict || !sent && lost(err)
		if !again || n == times || pause(ctx, n-1) != nil {
			return toClientError(err)
		}
		db.retries.Add(1)
	}
}

// pause waits before the try after the n-th: longer each time, and for a random time,
// so that nodes do not try again at the same instant.
func pause(ctx context.Context, n int) error {
	most := 4 * time.Millisecond << (2 * n)
	timer := time.NewTimer(most/4 + rand.N(most))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// try carries out a group in one transaction. sent is whether its commit may have
// reached the server.
func (db *DB) try(ctx context.Context, g *store.Group) (sent bool, err error) {
	c, err := db.writer.Acquire(ctx)
	if err != nil {
		return false, err
	}
	defer c.Release()
	defer func() {
		if err != nil {
			rollback(ctx, c.Conn())
		}
	}()
	b := new(store.Batch)
	b.Exec("BEGIN")
	if !g.Patient {
		b.Exec("SET LOCAL lock_timeout = " + millisText(promptLock))
	}
	g.Load(b)
	if err := (sqlTx{ctx, c}).Run(b); err != nil {
		return false, err
	}
	b = new(store.Batch)
	g.Write(b)
	b.Exec("COMMIT")
	return true, confirmed(c.Conn(), func() error { return sqlTx{ctx, c}.Run(b) })
}

// rollback prepares the connection for the next transaction. If that fails, the pool
// closes the connection.
func rollback(ctx context.Context, c *pgx.Conn) {
	if !c.IsClosed() && c.PgConn().TxStatus() != 'I' {
		_, _ = c.Exec(ctx, "ROLLBACK") // the pool checks the state itself
	}
}

// leaveReplica has all connections replaced if err says that the server no longer takes
// writes: it was demoted, and another one is the primary.
func (db *DB) leaveReplica(err error) {
	if state(err) == stateReadOnly {
		db.writer.Reset()
		db.readers.Reset()
	}
}

// errUnconfirmed is returned for a commit that the server carried out without waiting
// for its synchronous standby, because an administrator ended the wait.
var errUnconfirmed = errors.New("the commit was not confirmed by the synchronous standby")

// change calls f in a transaction of a rare write and commits it, again if it met another one
// or its connection was lost before the commit was on its way.
func (db *DB) change(ctx context.Context, f func(sqlTx) error) error {
	return db.retry(ctx, attempts, func() (bool, error) { return db.changeOnce(ctx, f) })
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
