package sqlite

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// An engine is a DB as [store.Store] uses it.
type engine struct{ db *DB }

func (a engine) Change(ctx context.Context, f func(store.Tx) error) error {
	return a.db.change(ctx, func(c *conn) error { return f(c) })
}

func (a engine) Write(ctx context.Context, f func(store.Tx) error) error {
	return a.Change(ctx, f)
}

func (a engine) Read(ctx context.Context, f func(store.Tx) error) error {
	return a.db.read(ctx, func(c *conn) error { return f(c) })
}

func (a engine) Snapshot(ctx context.Context, f func(store.Tx) error) error {
	return a.db.read(ctx, snapshot(func(c *conn) error { return f(c) }))
}

func (a engine) WriteBulk(ctx context.Context, workspace int64, f func(store.Tx) error) error {
	time.Sleep(bulkPause)
	return a.db.change(ctx, func(c *conn) error {
		c.changedPets = append(c.changedPets, workspace)
		return f(c)
	})
}

// dialect has what differs in SQLite. It needs no locks of rows, since one transaction
// writes at a time. Without a hint SQLite would scan the primary key rather than use an
// index.
var dialect = store.Dialect{
	InList:   inList,
	AddName:  addName,
	Contains: "instr(folded, ?) > 0",
	LowStock: "quantity <= ? AND quantity <= 100",
	Hint:     func(index string) string { return " INDEXED BY " + index },
	Search:   searchNames,
	Tidy:     mergeNames,

	Ledgers:         ledgers,
	RaiseWorkspaces: "UPDATE sqlite_sequence SET seq = " + store.Raised("seq") + " WHERE name = 'workspaces'",
	NextWorkspace:   "UPDATE sqlite_sequence SET seq = seq + 1 WHERE name = 'workspaces' RETURNING seq",
	CheckStructure:  checkStructure,
	Size:            "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size",
}

func inList(ids []int64) (condition string, arg any) {
	text, _ := json.Marshal(ids) // never fails
	return " IN (SELECT value FROM json_each($2))", string(text)
}

// How long a command waits for the server, and how often it asks the database meanwhile.
const (
	awaitFollower = time.Second
	lookFollower  = 5 * time.Millisecond
)

// SetAppliedState implements [access.Store].
func (a engine) SetAppliedState(ctx context.Context, state int64) error {
	return a.Change(ctx, func(tx store.Tx) error { return store.SetMeta(tx, "followed", strconv.AppendInt(nil, state, 10)) })
}

// AwaitApplied implements [access.Store].
func (a engine) AwaitApplied(ctx context.Context) (bool, error) {
	if err := whileUnserved(a.db.path, func() error { return nil }); !errors.Is(err, ErrInUse) {
		return true, err
	}
	for deadline := time.Now().Add(awaitFollower); time.Now().Before(deadline); {
		behind := int64(0)
		err := a.db.read(ctx, func(c *conn) (err error) {
			behind, err = c.number("SELECT state > coalesce((SELECT CAST(CAST(value AS TEXT) AS INTEGER) FROM meta WHERE name = 'followed'), 0) FROM access_state")
			return err
		})
		if err != nil || behind == 0 {
			return true, err
		}
		select {
		case <-time.After(lookFollower):
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
	return false, nil
}

// read runs f on a connection for reading. A context that can end costs a goroutine.
func (db *DB) read(ctx context.Context, f func(*conn) error) error {
	if err := cmp.Or(db.broken(), ctx.Err()); err != nil {
		return petstore.Unavailable(err)
	}
	select {
	case c, open := <-db.readers:
		if !open {
			return petstore.Unavailable(store.ErrClosed)
		}
		defer func() { db.readers <- c }()
		if ctx.Done() != nil {
			c.SetInterrupt(ctx.Done())
			defer c.SetInterrupt(nil)
		}
		err := f(c)
		if ctx.Err() != nil && sqlite.ErrCode(err) == sqlite.ResultInterrupt {
			err = ctx.Err()
		}
		return db.toClientError(err)
	case <-ctx.Done():
		return petstore.Unavailable(ctx.Err())
	}
}

// snapshot is read in a transaction: f's statements see one state. A panic of f, too,
// ends it.
func snapshot(f func(*conn) error) func(*conn) error {
	return func(c *conn) (err error) {
		defer sqlitex.Transaction(c.Conn)(&err)
		return f(c)
	}
}
