// Package sqlite keeps everything in one SQLite file: the workspaces
// ([petstore.Store]), the workspaces and keys ([access.Store]) and what the
// rate limiter saves ([ratelimit.Store]).
//
// Writes that wait share one durable commit, see writer.go; reads run beside
// them on connections of their own and see what was committed last. It decides
// nothing of the domain: rules come as [petstore.Change].
package sqlite

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"strconv"
	"sync"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/accesssql"
	"example.com/petstore/internal/feed"
	"example.com/petstore/internal/groupcommit"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/ratelimit"
)

// Options say how a database is opened. The zero value is good.
type Options struct {
	Now       func() time.Time     // the clock; time.Now if nil
	Elapsed   func() time.Duration // for how long the process has run, whatever the clock says; that of the system if nil
	Readers   int                  // connections for reading; 0 for max(4, 2·GOMAXPROCS)
	NoMigrate bool                 // neither create nor migrate: refuse a file that is missing or not up to date
	Cached    int                  // pets that are kept in memory once read; 0 for none
	NoEvents  bool                 // write no events
	ReadOnly  bool                 // open for reading alone, and as NoMigrate; writes return Unavailable
	Log       *slog.Logger         // where a failure of the database is told; discarded if nil

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
	*accesssql.Store
	feed.Bell // rings for the feeds that this process, or another one, has written to

	path     string
	now      func() time.Time
	log      *slog.Logger
	readOnly bool

	writer  *conn
	queue   *groupcommit.Queue[job]
	stopped chan struct{} // closed when the writer goroutine has ended

	wrote time.Time // when the writer committed last

	checkpointer *checkpointer // nil if the database is read alone
	effort       searchEffort
	stopIndexing func() // of names that were there before their index
	cache        *cache // nil if there is none
	version      int64  // of the file's contents, as the writer knows it
	readers      *stack
	count        int           // how many readers there are
	closed       chan struct{} // closed when the last reader is back for good

	waiting func(process string) // see Options.Waiting
	watcher watcher

	fault   fault
	counted groupcommit.Counter
	closing sync.Once
}

var (
	_ petstore.Store  = (*DB)(nil)
	_ access.Store    = (*DB)(nil)
	_ ratelimit.Store = (*DB)(nil)
)

// Open opens the database in the file path. Unless o says otherwise it creates
// the file, readable by its owner alone, and brings it up to date. ctx bounds
// the opening, not the DB.
//
// Errors are one line that begins with the path. A file of another program, or
// made by a newer version of this one, is refused and left as it is.
func Open(ctx context.Context, path string, o Options) (*DB, error) {
	db, err := open(ctx, path, o.withDefaults())
	if err != nil {
		return nil, fmt.Errorf("database %s: %w", path, err)
	}
	go db.write()
	if o.Serve {
		db.watcher.running.Go(db.watchFiles)
	}
	return db, nil
}

func (o Options) withDefaults() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Readers <= 0 {
		o.Readers = max(4, 2*runtime.GOMAXPROCS(0))
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

func open(ctx context.Context, path string, o Options) (*DB, error) {
	path, err := prepareFile(path, o)
	if err != nil {
		return nil, err
	}
	lock, err := o.claim(ctx, path)
	if err != nil {
		return nil, err
	}
	db := &DB{
		waiting: o.Waiting, watcher: watcher{lock: lock, stop: make(chan struct{})},
		path: path, now: o.Now, log: o.Log, readOnly: o.ReadOnly, effort: usualEffort,
		stopped: make(chan struct{}), stopIndexing: func() {},
		count:  o.Readers,
		closed: make(chan struct{}),
		fault:  fault{failed: make(chan struct{})},
	}
	db.Store = accesssql.New(accessDB{db}, accesssql.Options{
		Tables: workspaceTables, Now: o.Now, Elapsed: o.Elapsed, NoEvents: o.NoEvents, Written: db.Ring,
	})
	db.queue = groupcommit.NewQueue[job](nil)
	db.readers = newStack(o.Readers)
	if err := db.connect(ctx, o); err != nil {
		_ = db.disconnect() // the first failure is what counts
		return nil, explain(err)
	}
	return db, nil
}

// connect opens all connections, the writer's first: it creates and migrates.
func (db *DB) connect(ctx context.Context, o Options) (err error) {
	if db.writer, err = openConn(db.path, o.ReadOnly); err != nil {
		return err
	}
	if err := db.writer.becomeCurrent(ctx, o); err != nil {
		return err
	}
	db.writer.silent = o.NoEvents
	for _, pragma := range []string{"PRAGMA cache_size=" + strconv.Itoa(writerPages), "PRAGMA cache_spill=" + strconv.Itoa(unspilledPages)} {
		if err := db.writer.exec(pragma); err != nil {
			return err
		}
	}
	if err := db.Begin(accessTx{db.writer}); err != nil {
		return err
	}
	for range o.Readers {
		c, err := openConn(db.path, o.ReadOnly)
		if err != nil {
			return err
		}
		db.readers.push(c)
		if err := c.exec("PRAGMA query_only=ON"); err != nil {
			return err
		}
	}
	if o.Cached > 0 {
		db.cache = newCache(o.Cached)
	}
	if !o.ReadOnly {
		if db.checkpointer, err = newCheckpointer(db); err != nil {
			return err
		}
	}
	if err := db.watch(); err != nil || o.ReadOnly {
		return err
	}
	return db.startIndexing()
}

// disconnect closes the connections that nobody uses.
func (db *DB) disconnect() error {
	db.checkpointer.stop()
	if db.abandoned() {
		return nil
	}
	errs := []error{db.checkpointer.close()}
	for _, c := range db.readers.empty() {
		errs = append(errs, c.Close())
	}
	if db.writer != nil {
		errs = append(errs, db.writer.Close())
	}
	db.watcher.files.Close()
	return errors.Join(append(errs, db.watcher.lock.Close())...)
}

// Close waits for the writes and reads under way, then closes the file. If other
// processes have it open, it returns when they know of what was committed. Later
// calls of other methods return Unavailable.
func (db *DB) Close() error {
	var err error
	db.closing.Do(func() {
		db.watcher.close()
		db.stopIndexing()
		db.queue.Close()
		<-db.stopped
		db.fault.close()
		for range db.count {
			<-db.readers.free
		}
		close(db.closed)
		if err = db.disconnect(); err != nil {
			err = fmt.Errorf("database %s: %w", db.path, err)
		}
		if _, missing := os.Stat(db.path + "-wal"); missing == nil { // who closes the file last removes it
			time.Sleep(time.Until(db.wrote.Add(noticeEvery + noticeEvery/4)))
		}
	})
	return err
}

// Stats are numbers for metrics, counted since Open.
type Stats struct {
	groupcommit.Stats

	Waiting     int // writes that wait now
	Readers     int // connections for reading
	IdleReaders int // those of them that nobody uses now
}

// Stats returns the numbers as they stand.
func (db *DB) Stats() Stats {
	return Stats{
		Stats:       db.counted.Stats(),
		Waiting:     db.queue.Len(),
		Readers:     db.count,
		IdleReaders: len(db.readers.free),
	}
}
