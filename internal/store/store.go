// Package store keeps everything in the tables of an SQL database, whatever its engine: pets, categories
// and orders ([petstore.Store], see [Group]), workspaces, keys, bans and the audit log ([access.Store]),
// webhooks ([webhook.Store]), and what is the same on all engines for [petstore.Feed], [ratelimit.Store]
// and [usage.Store]. It does not know the engine: its statements are understood by both SQLite and
// PostgreSQL.
package store

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
)

// A DB is a database whose tables are those of the migrations.
type DB interface {
	Follower

	// Change calls f in a transaction and returns after it is durable. Changes run one
	// after the other, also those of different nodes. f must not change pets, and may be
	// called again.
	Change(ctx context.Context, f func(Tx) error) error
	// Read calls f for reading. Its queries may see different states, but a later query
	// sees no older state than an earlier one.
	Read(ctx context.Context, f func(Tx) error) error
	// LongRead is Read for queries that may take long: the end of ctx interrupts them.
	LongRead(ctx context.Context, f func(Tx) error) error
	// Snapshot calls f for reading. All of its queries see the same state, may take any
	// time, and may run while the rows of another one are still being read.
	Snapshot(ctx context.Context, f func(Tx) error) error
	// Write calls f in a transaction, which may run at the same time as those of
	// Change. f must not change pets, and may be called again.
	Write(ctx context.Context, f func(Tx) error) error
	// Step is Write for one of many transactions that together write much. It lets
	// other writers go first. f may change the pets of the workspace, or none if that
	// is 0.
	Step(ctx context.Context, workspace int64, f func(Tx) error) error
	// Group carries out a group of changes in a transaction, and returns after it is
	// durable. [petstore.Unavailable] says that the outcome is lost; any other error is
	// the fault of one of the changes, and nothing has happened.
	Group(ctx context.Context, g *Group) error
	// Load carries out a load: it calls Run in a transaction, or Issue in a first
	// transaction and Keep in a second one. An error means that nothing was stored, unless
	// it is that of [petstore.Unavailable].
	Load(ctx context.Context, l *Load) error
	// AwaitWrites waits until the writes to the workspace that have begun are
	// committed, and has later ones wait for the commit of tx, so that they see what tx
	// has written.
	AwaitWrites(tx Tx, workspace int64) error
}

// A Follower is the part of [access.Store] about the servers that follow its changes.
type Follower interface {
	Followed(ctx context.Context, state int64) error
	AwaitFollower(ctx context.Context) (bool, error)
}

// A Store implements the stores of other packages on a DB, see the package comment.
type Store struct {
	Follower

	db      DB
	options Options
	now     func() time.Time
	queue   *queue
	counted Counter
	forgot  atomic.Int64 // the day on which old windows were removed last
}

// Options say how a store works.
type Options struct {
	Dialect Dialect
	Now     func() time.Time

	NoEvents bool                  // write no events
	Written  func(workspace int64) // is called after an event of the workspace was committed

	// Writer is locked while a group is taken and carried out, if the engine has only
	// one connection for writing. It may be nil.
	Writer sync.Locker
}

var _ access.Store = (*Store)(nil)

// New returns the store in a database.
func New(db DB, o Options) *Store {
	return &Store{Follower: db, db: db, options: o, now: o.Now, queue: newQueue()}
}

// read returns what f reads.
func read[T any](ctx context.Context, s *Store, f func(Tx) (T, error)) (found T, err error) {
	err = s.db.Read(ctx, func(tx Tx) (err error) {
		found, err = f(tx)
		return err
	})
	return found, err
}

// readRows returns the rows that a query selects.
func readRows[T any](ctx context.Context, s *Store, scan func(Row, *T) error, query string, args ...any) ([]T, error) {
	return read(ctx, s, func(tx Tx) ([]T, error) { return RowsOf(tx, scan, query, args...) })
}

// get returns the row that a query of a workspace and an id selects. Without one it
// returns missing's error.
func get[T any](ctx context.Context, s *Store, query string, workspace, id int64, scan func(Row, *T) error, missing func(int64) *petstore.Error) (row T, err error) {
	err = s.db.Read(ctx, func(tx Tx) error {
		found, err := one(tx, query, func(r Row) error { return scan(r, &row) }, workspace, id)
		if err == nil && !found {
			return missing(id)
		}
		return err
	})
	return row, err
}

// storable reports whether every engine can hold the text, and look for it.
func storable(text string) bool { return utf8.ValidString(text) && !strings.Contains(text, "\x00") }

// millis returns an instant as the tables hold it: in milliseconds, NULL for the
// zero time. The queries return 0 for NULL.
func millis(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMilli()
}

func instant(millis int64) time.Time {
	if millis == 0 {
		return time.Time{}
	}
	return time.UnixMilli(millis).UTC()
}
