package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// change calls run in a transaction and returns after it is durable. run must change no pets,
// except those of workspaces that it adds to conn.changedPets, and may be called again. While
// change waits for the writer, the end of ctx withdraws it. Others share the transaction: what
// a run that fails has done is undone alone.
func (db *DB) change(ctx context.Context, run func(*conn) error) error {
	var refused error
	err := db.Join(ctx, func(tx store.Tx) error {
		c := tx.(*conn) //nolint:forcetypeassert // that of Group
		refused = c.undoable(run)
		if c.AutocommitEnabled() || severityOf(refused) != ordinary {
			return refused
		}
		return nil
	})
	return cmp.Or(err, refused)
}

// undoable calls run in a savepoint, to which the transaction goes back if run fails.
func (c *conn) undoable(run func(*conn) error) (err error) {
	defer sqlitex.Save(c.Conn)(&err)
	return run(c)
}

// bulkPause lets other processes write: it is longer than askEvery, after which they
// retry.
const bulkPause = 2 * time.Millisecond

// Group implements [store.DB].
func (a engine) Group(_ context.Context, g *store.Group) error {
	return a.db.transact(func(c *conn) error {
		err := g.Run(c)
		c.changedPets = append(c.changedPets, g.Workspaces()...)
		return err
	})
}

// transact calls f in a transaction of the writer, and returns after it is durable. If f fails or panics the transaction is rolled back. It
// returns Unavailable if the transaction failed for another reason; then f may have
// succeeded.
func (db *DB) transact(f func(*conn) error) error {
	if db.readOnly {
		return petstore.Unavailable(errors.New("the database is open for reading only"))
	}
	db.writing.Lock()
	defer db.writing.Unlock()
	if err := db.broken(); err != nil {
		return petstore.Unavailable(err)
	}
	refused, err := db.try(f)
	if severityOf(err) == fatal {
		db.fail(err)
	}
	if err == nil {
		if err = db.files.Check(); err != nil { // what was written is in a file that was removed or replaced
			db.fail(err)
		}
	}
	if err != nil {
		db.unwritable.Store(&err)
		return petstore.Unavailable(err)
	}
	db.unwritable.Store(nil)
	db.logGrew()
	return refused
}

// try returns the error of f as refused, or err if the transaction failed.
func (db *DB) try(f func(*conn) error) (refused, err error) {
	c := db.writer
	if err := db.begin(); err != nil {
		return nil, err
	}
	defer func() {
		if c.AutocommitEnabled() {
			return
		}
		if undo := c.exec("ROLLBACK"); undo != nil {
			err = errors.Join(err, undo)
			db.fail(err) // the next BEGIN would fail, as the transaction is still open
		}
	}()
	if err := db.checkForeignCommit(); err != nil {
		return nil, err
	}
	c.changedPets = c.changedPets[:0]
	if err := f(c); err != nil {
		if c.AutocommitEnabled() || severityOf(err) != ordinary {
			return nil, err
		}
		return err, nil
	}
	err = db.versions.commit(c.changedPets, func() error { return c.exec("COMMIT") })
	db.wrote = time.Now()
	return nil, err
}

// checkForeignCommit finds out whether another process has committed. If so, it changes the
// versions of all pets and wakes all readers of events; and if a newer version of this program has
// migrated the file, it fails the database. It is called in each transaction, and regularly while
// nobody writes, with the writer locked.
func (db *DB) checkForeignCommit() error {
	version, err := db.writer.number("PRAGMA data_version")
	if err != nil || version == db.version {
		return err
	}
	db.versions.all.Add(2)
	db.WakeAllReaders()
	_, err = db.writer.known.Status(db.writer)
	if errors.Is(err, store.ErrNewer) {
		db.fail(err)
	}
	if err == nil { // else the next call checks again
		db.version = version
	}
	return err
}

// begin starts the writer's transaction, and waits up to busyTimeout for that of
// another process.
func (db *DB) begin() error {
	c := db.writer
	c.SetBusyTimeout(0) // SQLite itself would pause up to 100 ms between two attempts
	defer c.SetBusyTimeout(busyTimeout)
	for begun := time.Now(); ; time.Sleep(askEvery) {
		err := c.exec("BEGIN IMMEDIATE")
		if sqlite.ErrCode(err).ToPrimary() != sqlite.ResultBusy {
			return err
		}
		if time.Since(begun) >= busyTimeout {
			return fmt.Errorf("another process has been writing for %v: %w", busyTimeout, err)
		}
		_ = db.checkForeignCommit() // the other process may have committed; an error here comes again in the transaction
	}
}
