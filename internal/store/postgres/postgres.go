// Package postgres keeps everything in a PostgreSQL database, which any number of nodes
// share, as the engine of a [store.Store].
//
// Writes that wait on a node share one durable commit, see [store.Group] and writer.go.
// It decides nothing of the domain: rules come as [petstore.Change].
package postgres

import (
	"context"
	"crypto/rand"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"example.com/petstore/internal/store"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Options say how a database is opened.
type Options = store.OpenOptions

// A DB is an open database. All methods may be called concurrently, and other
// nodes may use the same database.
//
// While the database cannot be reached, methods return petstore.Unavailable. Each call
// tries again, so after a restart or a failover the DB need not be opened anew.
type DB struct {
	*store.Store
	store.FeedWaiters // woken by events of this node and of others

	url  string
	name string
	now  func() time.Time
	log  *slog.Logger

	writer  *pgxpool.Pool // connections of the committers, and for rare writes
	readers *pgxpool.Pool

	retries atomic.Int64
	trouble atomic.Pointer[error] // why the database cannot be reached, see note

	node    string        // names the sender in messages of feeds: a node gets its own messages too
	feeds   chan int64    // workspaces with new events, of which other nodes are to be notified
	quit    chan struct{} // closed to end notifyOthers
	running sync.WaitGroup
	closing sync.Once
}

// Open opens the database at url, which may name several hosts
// ("postgres://a,b/petstore?target_session_attrs=read-write"): the one that takes
// writes at the time is used. Unless o says otherwise Open migrates the tables, which
// are in the schema "petstore" of the database. The end of ctx stops Open, but does not
// close the DB.
//
// Errors are one line that names the database, without its password. A database that a
// newer version of this program has migrated is refused.
func Open(ctx context.Context, url string, o Options) (*DB, error) {
	o = o.WithDefaults(max(8, 4*runtime.GOMAXPROCS(0)))
	err := administer(ctx, url, func(c migrated) error { return c.becomeCurrent(o) })
	if err != nil {
		return nil, err
	}
	name, err := describe(url)
	if err != nil {
		return nil, err
	}
	db := &DB{url: url, name: name, now: o.Now, log: o.Log, node: rand.Text(), feeds: make(chan int64, notifyWaiting), quit: make(chan struct{})}
	db.Store = store.New(engine{db}, dialect, o, db.written)
	if db.writer, err = db.openPool(ctx, writing, committers+store.MaxPatient+2); err != nil {
		return nil, err
	}
	if db.readers, err = db.openPool(ctx, reading, o.Readers); err != nil {
		db.writer.Close()
		return nil, err
	}
	db.running.Go(db.notifyOthers)
	db.CommitChanges(committers)
	return db, nil
}

// Close waits for the writes and reads under way, then disconnects. Later calls
// of other methods return Unavailable.
func (db *DB) Close() error {
	db.closing.Do(func() {
		db.EndChanges()
		close(db.quit)
		db.running.Wait()
		db.writer.Close()
		db.readers.Close()
	})
	return nil
}

// Stats returns the present numbers.
func (db *DB) Stats() store.Stats {
	s, readers := db.ChangeStats(), db.readers.Stat()
	s.Retries = db.retries.Load()
	s.Readers, s.IdleReaders = int(readers.MaxConns()), int(readers.MaxConns()-readers.AcquiredConns()) // they are opened when they are needed
	return s
}

// Pools returns how the connections are used now, and were since Open, by what they are for.
func (db *DB) Pools() map[string]*pgxpool.Stat {
	return map[string]*pgxpool.Stat{"write": db.writer.Stat(), "read": db.readers.Stat()}
}

// Failed returns nil, since the server may always come back.
func (*DB) Failed() <-chan struct{} { return nil }
