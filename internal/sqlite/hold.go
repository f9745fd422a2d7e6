package sqlite

import (
	"errors"
	"sync/atomic"
	"time"

	"zombiezen.com/go/sqlite"
)

// Who reads one row takes SQLite's lock of a reader and gives it back, two calls of
// the system and half of what it takes to find a row. As long as nobody commits a
// connection may as well keep the lock, and with it the state that it reads, for the
// next row. But the log cannot begin anew while somebody reads in it: so states are
// held only while nobody writes, and not for long.
const (
	holdAfter   = 50 * time.Millisecond  // since this process wrote
	othersAfter = time.Second            // since another was seen to have written, which mostly goes on unseen
	holdFor     = 100 * time.Millisecond // then another is taken: another process may write
)

// A holder says when connections to read with may hold a state. Times are since
// begun.
type holder struct {
	index *walIndex // nil if there is none to see commits by: then never
	begun time.Time
	wrote atomic.Int64 // as if this process had then; writing while it does
	idle  *stack
	due   bool // that all let go; idle's lock guards it
}

const writing = 1 << 62

func (h *holder) now() int64 { return int64(time.Since(h.begun)) }

// may reports whether a state may be held.
func (h *holder) may(now int64) bool { return h.index != nil && now-h.wrote.Load() > int64(holdAfter) }

// begin is called before a transaction of this process: from now on no connection
// that nobody uses holds a state.
func (h *holder) begin() {
	if h.wrote.Swap(writing) != writing {
		h.idle.letGo()
	}
}

// end is called after the transaction, and what of the log is moved behind it.
func (h *holder) end() { h.wrote.Store(h.now()) }

// others notes that another process has committed.
func (h *holder) others() {
	if wrote := h.wrote.Load(); wrote != writing && h.wrote.CompareAndSwap(wrote, h.now()+int64(othersAfter-holdAfter)) {
		h.idle.letGo()
	}
}

// hold makes the state that c reads next the one it goes on to read, unless it holds
// the latest already, or another process is writing.
func (h *holder) hold(c *conn, now int64) error {
	if c.held != nil {
		if !h.index.is(c.held) {
			h.others()
			return c.letGo()
		}
		if now-c.since <= int64(holdFor) {
			return nil
		}
		if err := c.letGo(); err != nil {
			return err
		}
	}
	before := h.index.header() // what is read may be later, never earlier
	if err := c.exec("BEGIN"); err != nil {
		return err
	}
	c.held, c.since = before, now
	return nil
}

// rest is called with idle's lock for a connection that nobody will use.
func (h *holder) rest(c *conn) {
	switch {
	case c.held == nil:
	case !h.may(h.now()):
		_ = c.letGo() // it is in no transaction then, or fails whoever uses it
	case !h.due:
		h.due = true
		time.AfterFunc(holdFor, h.idle.letGo)
	}
}

// letGo ends what hold began, if anything.
func (c *conn) letGo() error {
	if c.held == nil {
		return nil
	}
	err := c.exec("COMMIT")
	if err != nil && !c.AutocommitEnabled() {
		err = errors.Join(err, c.exec("ROLLBACK"))
	}
	if c.AutocommitEnabled() {
		c.held = nil
	}
	return err
}

// findLatest is find on a connection that holding returned, in the latest state.
func findLatest[T any](db *DB, c *conn, query string, workspace, id int64, scan func(*sqlite.Stmt) T) (*T, error) {
	var err error
	if now := db.holder.now(); db.holder.may(now) {
		err = db.holder.hold(c, now)
	} else {
		err = c.letGo()
	}
	if err != nil {
		return nil, err
	}
	row, err := find(c, query, workspace, id, scan)
	if err != nil {
		_ = c.letGo() // the first failure is what counts
	}
	return row, err
}

// letGo has the idle connections hold nothing.
func (s *stack) letGo() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holder.due = false
	for _, c := range s.idle {
		_ = c.letGo() // as in rest
	}
}
