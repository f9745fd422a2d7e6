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
	for _, w := range group {
		if err != nil {
			w.Err = err
		}
		w.Answer()
	}
	if err == nil {
		db.checkpointer.committed(db.writer)
	}
}

// transact returns an error if the whole transaction is lost.
func (db *DB) transact(group []*write) error {
	err := db.begin()
	if err == nil {
		err = db.notice()
	}
	db.writer.touched.reset()
	for i := 0; err == nil && i < len(group); i++ {
		err = db.writer.attempt(group[i], len(group) == 1)
	}
	if err == nil && !db.writer.AutocommitEnabled() {
		err = db.versions.commit(&db.writer.touched, func() error { return db.writer.exec("COMMIT") })
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

// attempt carries out one write so that its failure undoes nothing but itself: by a
// savepoint, unless it is alone. It returns an error if the transaction is lost.
func (c *conn) attempt(w *write, alone bool) error {
	if !alone {
		if err := c.exec("SAVEPOINT one"); err != nil {
			return err
		}
	}
	w.Guard(func() error { return w.Job.run(c) })
	switch {
	case w.Err == nil:
		c.touched.all = c.touched.all || w.Job.reach == anything
	case c.AutocommitEnabled() || gravityOf(w.Err) != ordinary:
		return w.Err
	case alone:
		return c.exec("ROLLBACK")
	default:
		if err := c.exec("ROLLBACK TO one"); err != nil {
			return err
		}
	}
	if alone {
		return nil
	}
	return c.exec("RELEASE one")
}

// noticeEvery bounds how long a commit of another process goes unnoticed.
const noticeEvery = 200 * time.Millisecond

// notice finds out whether another process has committed: then all pets have other versions,
// and if it was a newer version of this program that migrated the file, no call is
// served any more. The writer calls it in each of its transactions, in which nobody
// else commits, and while it waits.
func (db *DB) notice() error {
	version, err := db.writer.number("PRAGMA data_version")
	if err != nil || version == db.version {
		return err
	}
	db.version = version
	db.versions.all.Add(2)
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
