package sqlite

import (
	"context"
	"fmt"
	"sync"
	"time"

	"example.com/petstore/internal/dbfile"
	"zombiezen.com/go/sqlite"
)

// Writers of several processes take turns by asking again and again: SQLite has
// no queue for them. So every writer asks often, and who writes much at a time
// rests longer between two transactions than the others need to ask.
const (
	askEvery   = time.Millisecond
	shortRest  = time.Millisecond     // while nobody else is known to write
	longRest   = 4 * time.Millisecond // beside others
	forgetThem = 2 * time.Second      // who has not written for so long is not beside us
)

// tellAfter is how long a writer waits for another process before it says so.
const tellAfter = time.Second

// begin starts the writer's transaction, and waits up to busyTimeout for that of
// another process.
func (db *DB) begin() error {
	c := db.writer
	c.SetBusyTimeout(0) // its own waiting grows to 100 ms between two attempts
	defer c.SetBusyTimeout(busyTimeout)
	for begun, told := time.Now(), false; ; time.Sleep(askEvery) {
		err := c.exec("BEGIN IMMEDIATE")
		if sqlite.ErrCode(err).ToPrimary() != sqlite.ResultBusy {
			return err
		}
		waited := time.Since(begun)
		if waited >= busyTimeout {
			return fmt.Errorf("the process %s has been writing for %v: %w", dbfile.WriterOf(db.path), busyTimeout, err)
		}
		if waited >= tellAfter && !told && db.waiting != nil {
			told = true
			db.waiting(dbfile.WriterOf(db.path))
		}
		_ = db.notice() // the other one may have committed before
	}
}

// changeMuch is change for one of many transactions that write much.
func (db *DB) changeMuch(ctx context.Context, run func(*conn) error) error {
	db.manners.rest()
	defer db.manners.end()
	return db.change(ctx, func(c *conn) error {
		if err := db.manners.look(c); err != nil {
			return err
		}
		return run(c)
	})
}

// A manners makes a bulk writer rest between its transactions.
type manners struct {
	mu      sync.Mutex
	ended   time.Time // when the last transaction did
	others  time.Time // when another process was last found to have written
	version int64     // PRAGMA data_version as it was then
}

// rest waits until it is polite to begin.
func (m *manners) rest() {
	m.mu.Lock()
	rest := shortRest
	if time.Since(m.others) < forgetThem {
		rest = longRest
	}
	wait := time.Until(m.ended.Add(rest))
	m.mu.Unlock()
	time.Sleep(wait)
}

// look notes, inside a transaction, whether others have written since the last
// one.
func (m *manners) look(c *conn) error {
	var version int64
	_, err := c.one("PRAGMA data_version", func(row *sqlite.Stmt) { version = row.ColumnInt64(0) })
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.version != 0 && m.version != version {
		m.others = time.Now()
	}
	m.version = version
	return err
}

// end notes that a transaction has ended.
func (m *manners) end() {
	m.mu.Lock()
	m.ended = time.Now()
	m.mu.Unlock()
}
