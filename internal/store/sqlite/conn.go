package sqlite

import (
	"errors"
	"fmt"
	"iter"
	"strconv"
	"sync"
	"time"

	"example.com/petstore/internal/store"
	"zombiezen.com/go/sqlite"
)

// busyTimeout is how long a statement waits for another process's lock.
const busyTimeout = 5 * time.Second

// Writers of several processes take turns by asking again and again: SQLite has
// no queue for them. So every writer asks often, and who writes much at a time
// pauses longer between two transactions than the others need to ask.
const askEvery = time.Millisecond

// How many pages of 4 KiB connections hold in memory at most.
const (
	cachePages  = 240 // 1 MiB: the upper levels of the trees of millions of rows, and what a search for one name reads
	writerPages = 200 // what most groups change

	// unspilledPages is how many pages the writer's cache grows to rather than have
	// changed ones written into the log before the transaction's end: more than
	// store.MaxGroup changes of most kinds need. If a page that was written early changes
	// again, the commit reads the log back from there, to make the checksums of all
	// frames behind it anew. Some versions of SQLite take a multiple of 256 for "never".
	unspilledPages = 1000
)

// A conn is a connection; one goroutine at a time uses it. Its statements are
// prepared once and kept.
type conn struct {
	*sqlite.Conn

	known *store.Migrations // that the program knows

	touched touched // by the writer's transaction
}

// openConn opens one connection and sets what SQLite keeps by connection.
func openConn(path string, readOnly bool) (*conn, error) {
	flags := sqlite.OpenReadWrite
	if readOnly {
		flags = sqlite.OpenReadOnly
	}
	raw, err := sqlite.OpenConn(path, flags)
	if err != nil {
		return nil, err
	}
	raw.SetBusyTimeout(busyTimeout)
	c := &conn{Conn: raw, known: known}
	for _, pragma := range []string{
		"PRAGMA synchronous=FULL", // NORMAL loses acknowledged writes at a power cut
		"PRAGMA foreign_keys=ON",
		"PRAGMA temp_store=MEMORY",
		"PRAGMA trusted_schema=OFF",
		"PRAGMA journal_size_limit=67108864",
		"PRAGMA cache_size=" + strconv.Itoa(cachePages),
	} {
		if err := c.exec(pragma); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	return c, nil
}

// query runs a statement and gives its rows, each until the next. An error ends them.
// While they are read, the connection must not run the same statement again. Arguments
// are int64, int, bool, string, []byte or nil.
func (c *conn) query(query string, args ...any) iter.Seq2[*sqlite.Stmt, error] {
	return func(yield func(*sqlite.Stmt, error) bool) {
		stmt, err := c.Prepare(query)
		if err != nil {
			yield(nil, err)
			return
		}
		defer stmt.Reset() //nolint:errcheck // says again what Step did
		for i, arg := range args {
			bind(stmt, i+1, arg)
		}
		for {
			found, err := stmt.Step()
			if err != nil {
				yield(nil, err)
				return
			}
			if !found || !yield(stmt, nil) {
				return
			}
		}
	}
}

// exec runs a statement and drops its rows.
func (c *conn) exec(query string, args ...any) error { return c.run(query, args, nil) }

// run runs a statement and calls row, unless that is nil, for each of its rows.
func (c *conn) run(query string, args []any, row func(store.Row) error) error {
	for stmt, err := range c.query(query, args...) {
		if err == nil && row != nil {
			err = row(sqlRow{stmt})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// first returns what scan reads of a statement's first row, or nil if there is none.
func first[T any](c *conn, scan func(*sqlite.Stmt) T, query string, args ...any) (*T, error) {
	for row, err := range c.query(query, args...) {
		if err != nil {
			return nil, err
		}
		value := scan(row)
		return &value, nil
	}
	return nil, nil
}

// number returns the number in the first column of a statement's first row, 0 if there
// is none.
func (c *conn) number(query string) (int64, error) {
	n, err := first(c, scanInt, query)
	if n == nil {
		return 0, err
	}
	return *n, nil
}

// text is number for a text.
func (c *conn) text(query string) (string, error) {
	s, err := first(c, func(row *sqlite.Stmt) string { return row.ColumnText(0) }, query)
	if s == nil {
		return "", err
	}
	return *s, nil
}

func bind(stmt *sqlite.Stmt, i int, arg any) {
	switch v := arg.(type) {
	case nil:
		stmt.BindNull(i)
	case int64:
		stmt.BindInt64(i, v)
	case int:
		stmt.BindInt64(i, int64(v))
	case bool:
		stmt.BindBool(i, v)
	case string:
		stmt.BindText(i, v)
	case []byte:
		stmt.BindBytes(i, v)
	default:
		panic(fmt.Sprintf("sqlite: no way to bind a %T", arg))
	}
}

func scanInt(row *sqlite.Stmt) int64 { return row.ColumnInt64(0) }

// A stack holds the connections to read with that nobody uses. The one given
// back last is taken first: its cache is warm. A channel of connections would be
// simpler, but has all take turns, and then a read costs a tenth more.
type stack struct {
	free chan struct{} // a token for each idle connection
	mu   sync.Mutex
	idle []*conn
}

func newStack(size int) *stack {
	return &stack{free: make(chan struct{}, size)}
}

func (s *stack) push(c *conn) {
	s.mu.Lock()
	s.idle = append(s.idle, c)
	s.mu.Unlock()
	s.free <- struct{}{}
}

// pop returns a connection whose token the caller has taken.
func (s *stack) pop() *conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := len(s.idle) - 1
	c := s.idle[last]
	s.idle = s.idle[:last]
	return c
}

// empty takes all idle connections for good.
func (s *stack) empty() []*conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	idle := s.idle
	s.idle = nil
	return idle
}
