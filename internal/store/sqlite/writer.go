package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store"
	"zombiezen.com/go/sqlite"
)

// A lock is held by one goroutine at a time, in the order in which they asked for it.
type lock chan struct{}

func (l lock) Lock()   { l <- struct{}{} }
func (l lock) Unlock() { <-l }

// A write waits for a transaction. When done is closed its caller may read the outcome.
type write struct {
	run      func(*conn) error
	err      error
	panicked any
	done     chan struct{}
}

// change calls run in a transaction and returns after it is durable. run must change no pets,
// except those of workspaces that it adds to conn.changedPets, and may be called again. While change waits for the
// writer, the end of ctx withdraws it. If run panics, change panics. The goroutine that gets the writer
// carries out all writes that wait; the groups of [store.Store.Do] have transactions of their
// own.
func (db *DB) change(ctx context.Context, run func(*conn) error) error {
	if err := ctx.Err(); err != nil {
		return petstore.Unavailable(err)
	}
	w := &write{run: run, done: make(chan struct{})}
	db.mu.Lock()
	db.writes = append(db.writes, w)
	db.mu.Unlock()
	select {
	case db.writing <- struct{}{}:
		db.carryOut()
		db.writing.Unlock()
	case <-w.done:
	case <-ctx.Done():
		if db.withdraw(w) {
			return petstore.Unavailable(ctx.Err())
		}
	}
	<-w.done
	if w.panicked != nil {
		panic(w.panicked)
	}
	return w.err
}

// withdraw takes back a write unless it was begun.
func (db *DB) withdraw(w *write) bool {
	db.mu.Lock()
	defer db.mu.Unlock()
	i := slices.Index(db.writes, w)
	if i >= 0 {
		db.writes = slices.Delete(db.writes, i, i+1)
	}
	return i >= 0
}

// carryOut carries out the writes that wait. The caller has locked the writer.
func (db *DB) carryOut() {
	db.mu.Lock()
	writes := db.writes
	db.writes = nil
	db.mu.Unlock()
	if len(writes) > 0 {
		db.carryOutAll(writes)
	}
}

// carryOutAll carries out writes in one transaction, or one by one if one of them fails.
func (db *DB) carryOutAll(writes []*write) {
	err := db.transact(func(c *conn) error {
		for _, w := range writes {
			if w.panicked, w.err = store.Guard(func() error { return w.run(c) }); w.err != nil {
				return w.err
			}
		}
		return nil
	})
	if len(writes) > 1 && slices.ContainsFunc(writes, func(w *write) bool { return w.err != nil }) {
		for i := range writes {
			db.carryOutAll(writes[i : i+1])
		}
		return
	}
	for _, w := range writes {
		w.err = err
		close(w.done)
	}
}

// bulkPause lets other processes write: it is longer than askEvery, after which they
// retry.
const bulkPause = 2 * time.Millisecond

// changeMuch is change for one of many transactions that write much, with a pause
// before it.
func (db *DB) changeMuch(ctx context.Context, f func(*conn) error) error {
	time.Sleep(bulkPause)
	return db.change(ctx, f)
}

// Group is called with the writer locked, see [store.Options].
func (a engine) Group(_ context.Context, g *store.Group) error {
	return a.db.transact(func(c *conn) error {
		err := g.Run(c)
		c.changedPets = append(c.changedPets, g.Workspaces()...)
		return err
	})
}

// transact calls f in a transaction of the writer, which the caller has locked, and
// returns after it is durable. If f fails or panics the transaction is rolled back. It
// returns Unavailable if the transaction failed for another reason; then f may have
// succeeded.
func (db *DB) transact(f func(*conn) error) error {
	if db.readOnly {
		return petstore.Unavailable(errors.New("the database is open for reading only"))
	}
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
	err = db.writer.checkSchema()
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
