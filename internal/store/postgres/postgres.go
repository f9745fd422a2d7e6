// Package postgres keeps everything in a PostgreSQL database, which any number
// of nodes share: pets and orders ([petstore.Store]), the workspaces and keys
// ([access.Store]), what the rate limiter saves ([ratelimit.Store]) and what the
// workspaces did ([usage.Store]).
//
// Writes that wait on a node share one durable commit, see [store.Group] and writer.go.
// It decides nothing of the domain: rules come as [petstore.Change].
package postgres

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/ratelimit"
	"example.com/petstore/internal/store"
	"example.com/petstore/internal/usage"
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

	retries  atomic.Int64
	trouble  atomic.Pointer[error] // why the database cannot be reached, see note
	notifier feedNotifier
	running  sync.WaitGroup
	closing  sync.Once
}

var (
	_ petstore.Store  = (*DB)(nil)
	_ access.Store    = (*DB)(nil)
	_ ratelimit.Store = (*DB)(nil)
	_ usage.Store     = (*DB)(nil)
)

// Open opens the database at url, which may name several hosts
// ("postgres://a,b/petstore?target_session_attrs=read-write"): the one that takes
// writes at the time is used. Unless o says otherwise Open migrates the tables, which
// are in the schema "petstore" of the database. The end of ctx stops Open, but does not
// close the DB.
//
// Errors are one line that names the database, without its password. A database that a
// newer version of this program has migrated is refused.
func Open(ctx context.Context, url string, o Options) (*DB, error) {
	name, err := describe(url)
	if err != nil {
		return nil, err
	}
	db, err := open(ctx, url, name, o.WithDefaults(max(8, 4*runtime.GOMAXPROCS(0))))
	if err != nil {
		return nil, fmt.Errorf("database %s: %w", name, err)
	}
	db.running.Go(db.notifyOthers)
	for range committers {
		db.running.Go(db.CommitChanges)
	}
	return db, nil
}

func open(ctx context.Context, url, name string, o Options) (_ *DB, err error) {
	if err := becomeCurrent(ctx, url, o); err != nil {
		return nil, err
	}
	db := &DB{url: url, name: name, now: o.Now, log: o.Log, notifier: newFeedNotifier()}
	db.Store = store.New(engine{db}, store.Options{
		Dialect: dialect, Now: o.Now, NoEvents: o.NoEvents, Written: db.written,
	})
	defer func() {
		if err != nil {
			db.disconnect()
		}
	}()
	for _, p := range []struct {
		pool **pgxpool.Pool
		use  use
		size int
	}{
		{&db.writer, writing, committers + store.MaxPatient + 2},
		{&db.readers, reading, o.Readers},
	} {
		if *p.pool, err = db.openPool(ctx, p.use, p.size); err != nil {
			return nil, err
		}
	}
	return db, nil
}

// disconnect closes the connections that are open.
func (db *DB) disconnect() {
	for _, p := range []*pgxpool.Pool{db.writer, db.readers} {
		if p != nil {
			p.Close()
		}
	}
}

// Close waits for the writes and reads under way, then disconnects. Later calls
// of other methods return Unavailable.
func (db *DB) Close() error {
	db.closing.Do(func() {
		db.EndChanges()
		close(db.notifier.quit)
		db.running.Wait()
		db.disconnect()
	})
	return nil
}

// PoolStats are numbers of this node for metrics that SQLite does not have, counted since
// Open.
type PoolStats struct {
	Retries int64  // tries after the first one
	Pools   []Pool // named by their use: "write" and "read"
}

// A Pool is how the connections of one kind are used.
type Pool struct {
	Name string
	*pgxpool.Stat
}

// Stats returns the present numbers.
func (db *DB) Stats() store.Stats {
	s, readers := db.ChangeStats(), db.readers.Stat()
	s.Readers, s.IdleReaders = int(readers.MaxConns()), int(readers.MaxConns()-readers.AcquiredConns()) // they are opened when they are needed
	return s
}

// PoolStats returns the present numbers.
func (db *DB) PoolStats() PoolStats {
	return PoolStats{db.retries.Load(), []Pool{{"write", db.writer.Stat()}, {"read", db.readers.Stat()}}}
}

// Failed returns nil, since the server may always come back.
func (*DB) Failed() <-chan struct{} { return nil }

// PetVersion returns false, since other nodes change pets too.
func (*DB) PetVersion(int64) (version uint64, known bool) { return 0, false }
