package sqlite

import (
	"sync/atomic"
	"time"

	"zombiezen.com/go/sqlite"
)

// Who reads one row takes SQLite's lock of a reader and gives it back, two calls of
// the system and half of what it takes to find a row. As long as nobody commits a
// connection may as well keep the lock, and with it the state that it reads, for the
// next row. But the log cannot begin anew while somebody reads in it: so states are
// held only while this process does not write, and not for long.
const (
	holdAfter = 50 * time.Millisecond  // since it last wrote
	holdFor   = 100 * time.Millisecond // then all are let go: other processes may write
)

// A holder says when connections to read with may hold a state.
type holder struct {
	index *walIndex // nil if there is none to see commits by: then never
	begun time.Time // what wrote counts from
	wrote atomic.Int64
	due   atomic.Bool // letGo, in holdFor
}

// writes notes that a transaction begins.
func (h *holder) writes() { h.wrote.Store(int64(time.Since(h.begun))) }

func (h *holder) may() bool {
	return h.index != nil && int64(time.Since(h.begun))-h.wrote.Load() > int64(holdAfter)
}

// hold makes the state that c reads next the one it goes on to read, unless it holds
// the latest already.
func (h *holder) hold(c *conn) error {
	if c.held != nil && h.index.is(c.held) {
		return nil
	}
	if err := c.letGo(); err != nil {
		return err
	}
	before := h.index.header() // what is read may be later, never earlier
	if err := c.exec("BEGIN"); err != nil {
		return err
	}
	c.held = before
	return nil
}

// letGo ends what hold began, if anything.
func (c *conn) letGo() error {
	if c.held == nil {
		return nil
	}
	c.held = nil
	return c.exec("COMMIT")
}

// findLatest is find on a connection that takes, in the latest state.
func findLatest[T any](db *DB, c *conn, query string, workspace, id int64, scan func(*sqlite.Stmt) T) (*T, error) {
	if !db.holder.may() {
		if err := c.letGo(); err != nil {
			return nil, err
		}
		return find(c, query, workspace, id, scan)
	}
	if err := db.holder.hold(c); err != nil {
		return nil, err
	}
	row, err := find(c, query, workspace, id, scan)
	if err != nil {
		_ = c.letGo() // the first failure is what counts
	} else if db.holder.due.CompareAndSwap(false, true) {
		time.AfterFunc(holdFor, func() {
			db.holder.due.Store(false)
			db.readers.letGo()
		})
	}
	return row, err
}

// letGo has the idle connections hold nothing.
func (s *stack) letGo() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.idle {
		_ = c.letGo() // its next statement fails with the same
	}
}
