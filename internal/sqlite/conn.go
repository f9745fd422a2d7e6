package sqlite

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"
	"unsafe"

	"example.com/petstore/internal/petstore"
	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
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
	// groupcommit.Most changes of most kinds need. If a page that was written early changes
	// again, the commit reads the log back from there, to make the checksums of all
	// frames behind it anew. Some versions of SQLite take a multiple of 256 for "never".
	unspilledPages = 1000
)

// A conn is a connection; one goroutine at a time uses it. Its statements are
// prepared once and kept.
type conn struct {
	*sqlite.Conn

	// The writer's, while its transaction lasts.
	touched touched
	issued  map[int64]ids  // by workspace
	removed map[int64]bool // workspaces whose rows are being removed
	renames map[petKey]nameChange
	silent  bool                       // no events are written
	unsaved map[int64][]petstore.Event // by workspace
	grown   []int64                    // the workspaces whose feeds have grown
}

// A petKey names a pet.
type petKey struct{ workspace, id int64 }

// A nameChange is the folded names of a pet before and after a transaction, "" for none.
type nameChange struct{ before, after string }

// The kinds of rows that have ids, each with a counter.
const (
	petID = iota
	categoryID
	orderID
	entryID // of the ledger
	kinds
)

// ids are the counters of a workspace while the writer's transaction lasts: one
// that places many orders reads and writes them once.
type ids [kinds]int64

// openConn opens one connection and sets what SQLite keeps by connection.
func openConn(path string, readOnly bool) (*conn, error) {
	flags := sqlite.OpenReadWrite
	if readOnly {
		flags = sqlite.OpenReadOnly
	}
	keepPlans()
	raw, err := sqlite.OpenConn(path, flags)
	if err != nil {
		return nil, err
	}
	raw.SetBusyTimeout(busyTimeout)
	c := &conn{Conn: raw}
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

// exec runs a statement and drops its rows. Arguments are int64, int, bool,
// string, []byte or nil.
func (c *conn) exec(query string, args ...any) error {
	return c.each(query, func(*sqlite.Stmt) {}, args...)
}

// each runs a statement and calls row for each of its rows.
func (c *conn) each(query string, row func(*sqlite.Stmt), args ...any) error {
	stmt, err := c.Prepare(query)
	if err != nil {
		return err
	}
	for i, arg := range args {
		bind(stmt, i+1, arg)
	}
	return rows(stmt, row)
}

// one runs a statement and calls row for the first of its rows. It reports
// whether there was one.
func (c *conn) one(query string, row func(*sqlite.Stmt), args ...any) (bool, error) {
	stmt, err := c.Prepare(query)
	if err != nil {
		return false, err
	}
	for i, arg := range args {
		bind(stmt, i+1, arg)
	}
	found, err := stmt.Step()
	if err != nil || !found {
		return false, err
	}
	row(stmt)
	return true, stmt.Reset()
}

// ints prepares a statement whose first parameters are numbers: the way of
// everything that must be fast.
func (c *conn) ints(query string, args ...int64) (*sqlite.Stmt, error) {
	stmt, err := c.Prepare(query)
	if err != nil {
		return nil, err
	}
	for i, arg := range args {
		stmt.BindInt64(i+1, arg)
	}
	return stmt, nil
}

// rows calls row for each row that is left. The statement then holds no lock.
func rows(stmt *sqlite.Stmt, row func(*sqlite.Stmt)) error {
	for {
		found, err := stmt.Step()
		if err != nil || !found {
			return err
		}
		row(stmt)
	}
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

// find returns the row that a query of a workspace and an id selects, or nil.
func find[T any](c *conn, query string, workspace, id int64, scan func(*sqlite.Stmt) T) (*T, error) {
	stmt, err := c.ints(query, workspace, id)
	if err != nil {
		return nil, err
	}
	found, err := stmt.Step()
	if err != nil || !found {
		return nil, err
	}
	row := scan(stmt)
	return &row, stmt.Reset()
}

func scanInt(row *sqlite.Stmt) int64 { return row.ColumnInt64(0) }

func scanTime(row *sqlite.Stmt, col int) petstore.Time {
	if row.ColumnIsNull(col) {
		return petstore.Time{}
	}
	return petstore.Time{Millis: row.ColumnInt64(col), Valid: true}
}

var plansKept sync.Once

// keepPlans has SQLite plan each statement once, on every connection that this
// process opens from now on. Left to itself it looks at what is bound, and plans a
// list anew nearly each time it is asked for, which takes as long as to read it
// (https://sqlite.org/queryplanner-ng.html#qpsg). Our indexes are named or follow
// from the query, whatever is bound.
func keepPlans() {
	plansKept.Do(func() {
		tls := libc.NewTLS()
		defer tls.Close()
		call := keepPlansOf
		sqlite3.Xsqlite3_auto_extension(tls, *(*uintptr)(unsafe.Pointer(&call))) // the address by which the engine calls a function
	})
}

// keepPlansOf is what SQLite calls of each connection, as it does of an extension
// (https://sqlite.org/c3ref/auto_extension.html).
func keepPlansOf(tls *libc.TLS, db, _, _ uintptr) int32 {
	list := libc.NewVaList(int32(1), uintptr(0))
	defer libc.Xfree(tls, list)
	return sqlite3.Xsqlite3_db_config(tls, db, sqlite3.SQLITE_DBCONFIG_ENABLE_QPSG, list)
}

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
