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

// A write waits for a transaction. Its outcome is its caller's when done is closed.
type write struct {
	run      func(*conn) error
	err      error
	panicked any
	done     chan struct{}
}

// change calls run, which changes no pets unless it says so in conn.changedPets, in a transaction
// and returns after it is durable. While it waits, the end of ctx withdraws it. A panic of
// run becomes the caller's. Whoever gets the writer carries out all writes that wait; the
// groups of [store.Store.Do] are other transactions, in turns with these.
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

// carryOut carries out the writes that wait, in one transaction, and answers them. The
// writer is locked. If the transaction is lost, all are told so, the refused ones too.
func (db *DB) carryOut() {
	db.mu.Lock()
	writes := db.writes
	db.writes = nil
	db.mu.Unlock()
	if len(writes) == 0 {
		return
	}
	err := db.transact(func(c *conn) error {
		if len(writes) == 1 {
			writes[0].try(c)
			return writes[0].err
		}
		for _, w := range writes {
			if err := c.attempt(w); err != nil {
				return err
			}
		}
		return nil
	})
	for _, w := range writes {
		if err != nil {
			w.err = err
		}
		close(w.done)
	}
}

// try runs the write. What it panics with is kept for the caller.
func (w *write) try(c *conn) {
	w.panicked, w.err = store.Guard(func() error { return w.run(c) })
}

// attempt tries one of several writes so that its failure undoes nothing but itself. It
// returns an error if the transaction is lost.
func (c *conn) attempt(w *write) error {
	if err := c.exec("SAVEPOINT one"); err != nil {
		return err
	}
	if w.try(c); w.err != nil {
		if c.AutocommitEnabled() || gravityOf(w.err) != ordinary {
			return w.err
		}
		if err := c.exec("ROLLBACK TO one"); err != nil {
			return err
		}
	}
	return c.exec("RELEASE one")
}

// bulkPause is for other processes to write: longer than askEvery, with which they ask
// whether they can.
const bulkPause = 2 * time.Millisecond

// changeMuch is change for one of many transactions that write much, with a pause
// before it.
func (db *DB) changeMuch(ctx context.Context, f func(*conn) error) error {
	time.Sleep(bulkPause)
	return db.change(ctx, f)
}

// Group finds the writer locked, see [store.Options].
func (a engine) Group(_ context.Context, g *store.Group) error {
	return a.db.transact(func(c *conn) error {
		err := g.Run(c)
		c.changedPets = append(c.changedPets, g.Workspaces()...)
		return err
	})
}

// transact runs f in a transaction of the writer, which is locked, and returns after it
// is durable. If f fails, or panics, nothing has happened. It returns Unavailable if that
// is not f's fault; then f may have succeeded.
func (db *DB) transact(f func(*conn) error) error {
	if db.readOnly {
		return petstore.Unavailable(errors.New("the database is open for reading only"))
	}
	if err := db.broken(); err != nil {
		return petstore.Unavailable(err)
	}
	refused, err := db.try(f)
	if gravityOf(err) == final {
		db.fail(err)
	}
	if err == nil {
		if err = db.files.Check(); err != nil { // nobody would find what was written
			db.lose(err)
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

// try returns the error of f, or why the transaction is lost.
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
			db.fail(err) // the next BEGIN would join a transaction that nobody wants
		}
	}()
	if err := db.checkForeignCommit(); err != nil {
		return nil, err
	}
	c.changedPets = c.changedPets[:0]
	if err := f(c); err != nil {
		if c.AutocommitEnabled() || gravityOf(err) != ordinary {
			return nil, err
		}
		return err, nil
	}
	err = db.versions.commit(c.changedPets, func() error { return c.exec("COMMIT") })
	db.wrote = time.Now()
	return nil, err
}

// checkForeignCommit finds out whether another process has committed: then all pets have other versions,
// and if it was a newer version of this program that migrated the file, no call is
// served any more. It is called in each transaction, in which nobody else commits, and
// now and then while nobody writes. The writer is locked.
func (db *DB) checkForeignCommit() error {
	version, err := db.writer.number("PRAGMA data_version")
	if err != nil || version == db.version {
		return err
	}
	db.versions.all.Add(2)
	db.RingAll()
	err = db.writer.checkSchema()
	if errors.Is(err, store.ErrNewer) {
		db.fail(err)
	}
	if err == nil { // else the next call finds the same out
		db.version = version
	}
	return err
}

// tellAfter is how long a writer waits for another process before it says so.
const tellAfter = time.Second

// begin starts the writer's transaction, and waits up to busyTimeout for that of
// another process.
func (db *DB) begin() error {
	c := db.writer
	c.SetBusyTimeout(0) // its own waiting grows to 100 ms between two attempts
	defer c.SetBusyTimeout(busyTimeout)
	for begun, told := time.Now(), false; ; time.Sleep(askEvery) {
		err := c.exec("BEGIN IMMEDIATE")
		if sqlite.ErrCode(err).ToPrimary() != sqlite.ResultBusy {
			return err
		}
		waited := time.Since(begun)
		if waited >= busyTimeout {
			return fmt.Errorf("another process has been writing for %v: %w", busyTimeout, err)
		}
		if waited >= tellAfter && !told && db.waiting != nil {
			told = true
			db.waiting()
		}
		_ = db.checkForeignCommit() // the other one may have committed before; what fails here fails in the transaction, too
	}
}
