// Package sqlite keeps everything in one SQLite file, as the engine of a [store.Store].
//
// One connection writes, see writer.go. Reads run at the same time on other connections,
// and see the last commit. The package knows no rules of the domain: these come with each
// [petstore.Change].
package sqlite

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store"
)

// Options say how a database is opened.
type Options = store.OpenOptions

// A DB is an open database. All methods may be called concurrently, and other
// processes may read and write the same file.
type DB struct {
	*store.Store
	store.FeedWaiters // woken by events of this process and of others

	path     string
	log      *slog.Logger
	readOnly bool

	writer  *conn
	writing sync.Mutex // of the writer
	wrote   time.Time  // when the writer committed last

	checkpointer checkpointer
	versions     petVersions
	version      int64      // of the file's contents, as the writer knows it
	readers      chan *conn // the idle ones; closed by Close once all are idle
	conns        []*conn    // all that there are

	lock       *os.File // held while the process serves; nil otherwise
	files      *fileWatch
	unwritable atomic.Pointer[error] // why the last commit failed; nil if it did not
	stop       chan struct{}         // closed to end the goroutines of running
	running    sync.WaitGroup

	fault   atomic.Pointer[error] // why the database serves no calls any more; of ErrClosed after Close
	failed  chan struct{}
	closing sync.Once
}

// Stats returns the present numbers.
func (db *DB) Stats() store.Stats {
	s := db.ChangeStats()
	s.Readers, s.IdleReaders = cap(db.readers), len(db.readers)
	return s
}

// Follow does nothing: a file sends no notifications.
func (*DB) Follow(context.Context, func()) {}

// toClientError turns an error of SQLite or of a context into what a caller sees. A
// fatal one fails the database.
func (db *DB) toClientError(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*petstore.Error](err); ok {
		return err
	}
	severity := severityOf(err)
	if severity == fatal {
		db.fail(err)
	}
	if severity != ordinary || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return petstore.Unavailable(err)
	}
	return err
}

// fail stops the database for good: after a failed fsync nobody knows what is on the
// disk, and another fsync may succeed wrongly.
func (db *DB) fail(cause error) {
	if db.fault.CompareAndSwap(nil, &cause) {
		db.log.Error("the database failed: nothing more is written", "path", db.path, "err", cause)
		close(db.failed)
	}
}

// broken returns why no call can be served any more, or nil.
func (db *DB) broken() error {
	if cause := db.fault.Load(); cause != nil {
		return *cause
	}
	return nil
}

// Err returns why nothing can be written, or nil: the error that failed the
// database for good, or that of the last commit.
func (db *DB) Err() error {
	if err := db.broken(); err != nil && err != store.ErrClosed {
		return err
	}
	if err := db.unwritable.Load(); err != nil {
		return fmt.Errorf("nothing can be written: %w", *err)
	}
	return nil
}

// Failed returns a channel that is closed when the database fails for good. From then
// on every call returns Unavailable. A restart recovers what was committed.
func (db *DB) Failed() <-chan struct{} { return db.failed }
