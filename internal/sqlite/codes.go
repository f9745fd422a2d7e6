package sqlite

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"example.com/petstore/internal/groupcommit"
	"example.com/petstore/internal/petstore"
	"zombiezen.com/go/sqlite"
)

// A gravity says how far an error of SQLite reaches.
type gravity int

const (
	ordinary gravity = iota // a fault of one write, or no error of SQLite's at all
	passing                 // the transaction is lost; a later one may work
	final                   // what is on the disk can no longer be trusted to be what we wrote
)

// gravityOf judges by the result code alone.
func gravityOf(err error) gravity {
	code := sqlite.ErrCode(err)
	switch code.ToPrimary() {
	case sqlite.ResultIOErr:
		switch code {
		case sqlite.ResultIOErrSHMSize, sqlite.ResultIOErrNoMem: // a full disk under the shared memory; no memory
			return passing
		}
		return final
	case sqlite.ResultCorrupt, sqlite.ResultNotADB:
		return final
	case sqlite.ResultFull, sqlite.ResultBusy, sqlite.ResultLocked, sqlite.ResultInterrupt, sqlite.ResultNoMem,
		sqlite.ResultCantOpen, sqlite.ResultReadOnly, sqlite.ResultProtocol, sqlite.ResultPerm, sqlite.ResultAbort:
		return passing
	}
	return ordinary
}

// judge turns an error of SQLite or of a context into what a caller sees. A
// final one fails the database.
func (db *DB) judge(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*petstore.Error](err); ok {
		return err
	}
	switch gravityOf(err) {
	case final:
		db.fail(err)
		return petstore.Unavailable(err)
	case passing:
		return petstore.Unavailable(err)
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return petstore.Unavailable(err)
	}
	return err
}

// A fault is what ended the database, if anything did.
type fault struct {
	cause  atomic.Pointer[error] // groupcommit.ErrClosed after Close
	once   sync.Once
	failed chan struct{}
}

func (f *fault) close() { f.cause.CompareAndSwap(nil, &[]error{groupcommit.ErrClosed}[0]) }

// err returns why no call can be served any more, or nil.
func (f *fault) err() error {
	if p := f.cause.Load(); p != nil {
		return *p
	}
	return nil
}

// fail ends the database for good: after a failed fsync nobody knows what is on
// the disk, and asking again may wrongly say that all is well.
func (db *DB) fail(cause error) {
	db.fault.once.Do(func() {
		db.fault.cause.CompareAndSwap(nil, &cause)
		db.log.Error("the database failed: nothing more is written", "path", db.path, "err", cause)
		close(db.fault.failed)
	})
}

// Err returns why nothing can be written, or nil: the error that failed the
// database for good, or that of the last commit.
func (db *DB) Err() error {
	if err := db.fault.err(); err != nil && err != groupcommit.ErrClosed {
		return err
	}
	return db.watcher.err()
}

// Failed returns a channel that is closed when the database fails for good. From
// then on every call returns Unavailable; a restart recovers what was committed.
func (db *DB) Failed() <-chan struct{} { return db.fault.failed }
