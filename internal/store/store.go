// Package store keeps everything in the tables of an SQL database, whichever engine has
// them: changes of shops ([petstore.Store], see [Group]), workspaces, keys, bans and the
// audit log ([access.Store]), webhooks ([webhook.Store]), and what all engines do alike for
// [petstore.Feed], [ratelimit.Store] and [usage.Store]. It knows no engine: the statements are those that
// SQLite and PostgreSQL both understand.
package store

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/ratelimit"
	"example.com/petstore/internal/usage"
	"example.com/petstore/internal/webhook"
)

// A DB is a database whose tables are those of the migrations.
type DB interface {
	Follower

	// Change calls f in a transaction and returns after it is durable. Changes
	// come one after the other, on all nodes. f changes no pets, and may be called again.
	Change(ctx context.Context, f func(Tx) error) error
	// Read calls f for reading. Its queries may see different states, a later
	// one none that is older. The end of ctx interrupts them.
	Read(ctx context.Context, f func(Tx) error) error
	// Snapshot calls f for reading. Its queries see the same state, may take as long as
	// they like, and run while the rows of others are read.
	Snapshot(ctx context.Context, f func(Tx) error) error
	// Write calls f in a transaction beside those of Change. f changes no pets, and
	// may be called again.
	Write(ctx context.Context, f func(Tx) error) error
	// WriteBulk is Write for one of many transactions that write much. It lets others go
	// first. f may change pets of the workspace; 0 is none.
	WriteBulk(ctx context.Context, workspace int64, f func(Tx) error) error
	// Group carries out a group of changes in a transaction, and returns after it is
	// durable. [petstore.Unavailable] says that the outcome is lost; any other error is
	// the fault of one of the changes, and nothing has happened. It may return [ErrLocked]
	// for a group that is not patient.
	Group(ctx context.Context, g *Group) error
}

// A Follower is what [access.Store] says of the servers that follow its changes.
type Follower interface {
	SetAppliedState(ctx context.Context, state int64) error
	AwaitApplied(ctx context.Context) (bool, error)
}

// A Store is an [access.Store].
type Store struct {
	Follower

	db       DB
	dialect  Dialect
	now      func() time.Time
	noEvents bool
	written  func(workspace int64) // learns that an event was committed
	forgot   atomic.Int64          // the day on which old windows were removed last

	changes    chan *change
	waiting    atomic.Int64   // changes that no committer has received yet
	ended      chan struct{}  // closed by EndChanges
	committers sync.WaitGroup // those of asides too

	asideLock sync.Mutex
	asides    map[int64]*aside // by workspace, see MaxPatient

	groups, writes, lost, split atomic.Int64 // see Stats
}

// OpenOptions say how an engine opens a database. The zero value is usable.
type OpenOptions struct {
	Now       func() time.Time // the clock; time.Now if nil
	Readers   int              // connections for reading; 0 for as many as the engine finds right
	NoMigrate bool             // neither create nor migrate: refuse a database that is missing or not up to date
	NoEvents  bool             // write no events
	ReadOnly  bool             // as NoMigrate; SQLite opens the file for reading alone, and writes return Unavailable
	Log       *slog.Logger     // gets failures of the database; discarded if nil

	// Serve says that the process is a server. A SQLite file has one at a time, and is watched
	// by it. Opening it waits up to Wait for another server to end.
	Serve bool
	Wait  time.Duration
}

// WithDefaults returns the options with the defaults of those that are not set.
func (o OpenOptions) WithDefaults(readers int) OpenOptions {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Readers <= 0 {
		o.Readers = readers
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.NoMigrate = o.NoMigrate || o.ReadOnly
	return o
}

var (
	_ petstore.Store   = (*Store)(nil)
	_ access.Store     = (*Store)(nil)
	_ access.Sandboxes = (*Store)(nil)
	_ ratelimit.Store  = (*Store)(nil)
	_ usage.Store      = (*Store)(nil)
	_ webhook.Store    = (*Store)(nil)
)

// Size returns how many bytes the database has.
func (s *Store) Size(ctx context.Context) (int64, error) {
	return s.count(ctx, s.dialect.Size)
}

// New returns the store in a database. It calls written when an event of a workspace was committed.
func New(db DB, dialect Dialect, o OpenOptions, written func(workspace int64)) *Store {
	return &Store{
		Follower: db, db: db, dialect: dialect, now: o.Now, noEvents: o.NoEvents, written: written,
		changes: make(chan *change), ended: make(chan struct{}),
		asides: map[int64]*aside{},
	}
}
