// Package sqlite keeps everything in one SQLite file: pets and orders
// ([petstore.Store]), workspaces and keys ([access.Store]), what the rate limiter saves
// ([ratelimit.Store]), what workspaces did ([usage.Store]) and events ([petstore.Feed]).
//
// Writes that wait share one durable commit, see writer.go; a group of changes is one of
// them, see [store.Group]. Reads run beside them on connections of their own and see what
// was committed last. It decides nothing of the domain: rules come as [petstore.Change].
package sqlite

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/ratelimit"
	"example.com/petstore/internal/store"
	"example.com/petstore/internal/usage"
)

// Options say how a database is opened. The zero value is good.
type Options struct {
	Now       func() time.Time // the clock; time.Now if nil
	Readers   int              // connections for reading; 0 for max(4, 2·GOMAXPROCS)
	NoMigrate bool             // neither create nor migrate: refuse a file that is missing or not up to date
	NoEvents  bool             // write no events
	ReadOnly  bool             // open for reading alone, and as NoMigrate; writes return Unavailable
	Log       *slog.Logger     // where a failure of the database is told; discarded if nil

	// Serve says that the process serves the database, as one process at a time
	// may. Another one that does is waited for so long. What happens to the files
	// is watched.
	Serve bool
	Wait  time.Duration

	// Waiting is told, if a write has waited for another process for a second, which
	// one it is. It may be nil.
	Waiting func(process string)
}

// A DB is an open database. All methods may be called concurrently, and other
// processes may read and write the same file.
type DB struct {
	*store.Store
	store.Bell // rings for the feeds that this process, or another one, has written to

	path     string
	now      func() time.Time
	log      *slog.Logger
	readOnly bool

	writer  *conn
	queue   *store.Queue[job]
	stopped chan struct{} // closed when the writer goroutine has ended

	committed chan struct{} // closed when that has ended which hands it the groups of changes

	wrote time.Time // when the writer committed last

	checkpointer *checkpointer // nil if the database is read alone
	versions     petVersions
	version      int64 // of the file's contents, as the writer knows it
	readers      *stack
	count        int           // how many readers there are
	closed       chan struct{} // closed when the last reader is back for good

	waiting func(process string) // see Options.Waiting
	watcher watcher

	fault   fault
	closing sync.Once
}

var (
	_ petstore.Store  = (*DB)(nil)
	_ access.Store    = (*DB)(nil)
	_ ratelimit.Store = (*DB)(nil)
	_ usage.Store     = (*DB)(nil)
)

// Stats are numbers for metrics, counted since Open.
type Stats struct {
	store.Stats

	Waiting     int // writes that wait now
	Readers     int // connections for reading
	IdleReaders int // those of them that nobody uses now
}

// Stats returns the numbers as they stand.
func (db *DB) Stats() Stats {
	return Stats{
		Stats:       db.ChangeStats(),
		Waiting:     db.Waiting() + db.queue.Len(),
		Readers:     db.count,
		IdleReaders: len(db.readers.free),
	}
}

// A job is carried out on the writer's connection, inside a transaction that it
// shares with others.
type job struct {
	run   func(*conn) error
	reach reach
}

// A write is a job that waits for the writer.
type write = store.Write[job]

// A reach says what a write may change of pets.
type reach uint8

const (
	anything reach = iota
	nothing        // but what it notes in conn.touched
)

// changeOf has run, which reaches no further than stated, carried out in a transaction and
// returns after it is durable. While it waits, the end of ctx withdraws it. A panic of run
// becomes the caller's.
func (db *DB) changeOf(ctx context.Context, r reach, run func(*conn) error) error {
	if db.readOnly {
		return petstore.Unavailable(errors.New("the database is open for reading only"))
	}
	w, err := db.queue.Do(ctx, job{run, r})
	if err != nil {
		return petstore.Unavailable(err)
	}
	return w.Err
}

// bulkPause is for other processes to write: longer than askEvery, with which they ask
// whether they can.
const bulkPause = 2 * time.Millisecond

// changeMuch is changeOf for one of many transactions that write much, with a pause
// before it.
func (db *DB) changeMuch(ctx context.Context, r reach, run func(*conn) error) error {
	time.Sleep(bulkPause)
	return db.changeOf(ctx, r, run)
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
	if err := db.fault.err(); err != nil && err != store.ErrClosed {
		return err
	}
	return db.watcher.err()
}

// Failed returns a channel that is closed when the database fails for good. From
// then on every call returns Unavailable; a restart recovers what was committed.
func (db *DB) Failed() <-chan struct{} { return db.fault.failed }
