package sqlite

import (
	"errors"
	"fmt"
	"time"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store"
	"zombiezen.com/go/sqlite"
)

// write is the writer goroutine.
func (db *DB) write() {
	defer close(db.stopped)
	tick := time.NewTicker(noticeEvery)
	defer tick.Stop()
	db.queue.Run(db.commit, tick.C, func() { _ = db.notice() }) // what fails here fails the next write, which tells it
}

// commit carries out a group and answers it. If the transaction is lost, all
// of them get Unavailable, the refused ones too: what they were refused for may
// not have happened.
func (db *DB) commit(group []*write) {
	err := db.fault.err()
	if err == nil {
		err = db.transact(group)
	}
	if err == nil {
		if err = db.watcher.files.Check(); err != nil { // nobody would find what was written
			db.lose(err)
		}
	}
	db.watcher.note(err)
	if err != nil {
		err = petstore.Unavailable(err)
	}
	db.counted.Add(len(group), err)
	for _, w := range group {
		if err != nil {
			w.Err = err
		}
		w.Answer()
	}
	if err == nil {
		db.ring()
		db.checkpointer.committed(db.writer)
	}
}

// errAgain undoes a transaction whose writes have to be kept apart.
var errAgain = errors.New("a write failed half way")

// transact returns an error if the whole transaction is lost.
func (db *DB) transact(group []*write) error {
	err := db.try(group, together(group))
	if errors.Is(err, errAgain) {
		for _, w := range group {
			w.Reset()
		}
		err = db.try(group, apart)
	}
	return err
}

// A manner says how the failure of a write is kept from the others.
type manner uint8

const (
	apart  manner = iota // by a savepoint each
	alone                // there are no others
	united               // it fails before it writes anything, or all is done again, apart
)

// together returns how a group is carried out. Changes of workspaces are refused
// before they write, but for what nobody foresaw: so they go without savepoints.
func together(group []*write) manner {
	if len(group) == 1 {
		return alone
	}
	for _, w := range group {
		if w.Job.reach != named {
			return apart
		}
	}
	return united
}

func (db *DB) try(group []*write, how manner) error {
	err := db.begin()
	if err == nil {
		err = db.notice()
	}
	if err == nil {
		err = db.writer.lookAtRemovals()
	}
	db.writer.touched.reset()
	db.writer.forget()
	db.writer.grown = db.writer.grown[:0]
	for i := 0; err == nil && i < len(group); i++ {
		err = db.writer.attempt(group[i], how)
	}
	if err == nil {
		err = db.writer.finish()
	}
	if err == nil && !db.writer.AutocommitEnabled() {
		err = db.cache.commit(&db.writer.touched, func() error { return db.writer.exec("COMMIT") })
	}
	if err == nil {
		db.wrote = time.Now()
		return nil
	}
	if gravityOf(err) == final {
		db.fail(err)
	}
	if !db.writer.AutocommitEnabled() {
		if undo := db.writer.exec("ROLLBACK"); undo != nil {
			err = errors.Join(err, undo)
			db.fail(err) // the next BEGIN would join a transaction that nobody wants
		}
	}
	return err
}

// attempt carries out one write so that its failure undoes nothing but itself.
// It returns an error if the transaction is lost.
func (c *conn) attempt(w *write, how manner) error {
	if how == apart {
		if err := c.exec("SAVEPOINT one"); err != nil {
			return err
		}
	}
	before := c.touched.wrote
	c.touched.wrote = false
	w.Guard(func() error { return w.Job.run(c) })
	wrote := c.touched.wrote
	c.touched.wrote = before || wrote && w.Err == nil
	if w.Err == nil {
		c.touched.all = c.touched.all || w.Job.reach == anything
		return c.succeeded(how)
	}
	switch {
	case c.AutocommitEnabled() || gravityOf(w.Err) != ordinary:
		return w.Err
	case how == alone:
		c.forget()
		return c.exec("ROLLBACK")
	case how == united && wrote:
		return errAgain
	case how == united:
		return nil
	}
	c.forget()
	if err := c.exec("ROLLBACK TO one"); err != nil {
		return err
	}
	return c.exec("RELEASE one")
}

// finish writes what was put off until the end of a transaction.
func (c *conn) finish() error { return errors.Join(c.saveIDs(), c.saveEvents()) }

// forget forgets what was put off.
func (c *conn) forget() {
	clear(c.issued)
	clear(c.unsaved)
}

func (c *conn) succeeded(how manner) error {
	if how != apart {
		return nil
	}
	if err := c.finish(); err != nil { // what comes next may read the counters itself
		return err
	}
	return c.exec("RELEASE one")
}

// noticeEvery bounds how long a commit of another process goes unnoticed.
const noticeEvery = 200 * time.Millisecond

// notice finds out whether another process has committed: then the cache is void,
// and if it was a newer version of this program that migrated the file, no call is
// served any more. The writer calls it in each of its transactions, in which nobody
// else commits, and while it waits.
func (db *DB) notice() error {
	version, err := db.writer.number("PRAGMA data_version")
	if err != nil || version == db.version {
		return err
	}
	db.version = version
	db.cache.flush()
	db.RingAll()
	err = db.writer.checkSchema()
	if errors.Is(err, store.ErrNewer) {
		db.fail(err)
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
			return fmt.Errorf("the process %s has been writing for %v: %w", writerOf(db.path), busyTimeout, err)
		}
		if waited >= tellAfter && !told && db.waiting != nil {
			told = true
			db.waiting(writerOf(db.path))
		}
		_ = db.notice() // the other one may have committed before
	}
}
