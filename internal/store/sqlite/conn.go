package sqlite

import (
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store"
	"zombiezen.com/go/sqlite"
)

// busyTimeout is how long a statement waits for another process's lock.
const busyTimeout = 5 * time.Second

// SQLite has no queue for the writers of several processes: each retries until it gets
// the lock. So every writer retries often, and one that writes much pauses longer
// between two transactions than the others take to retry.
const askEvery = time.Millisecond

// How many pages of 4 KiB connections hold in memory at most.
const (
	cachePages  = 240 // 1 MiB: the upper levels of the trees of millions of rows, and what a search for one name reads
	writerPages = 200 // what most groups change

	// unspilledPages is up to how many pages the writer's cache grows before SQLite
	// writes changed pages into the log during a transaction: more than store.MaxGroup
	// changes of most kinds need. If such a page changes again, the commit has to read
	// the log and to compute the checksums of all later frames again. Some versions of
	// SQLite take a multiple of 256 for "never".
	unspilledPages = 1000
)

// A conn is a connection, and a [store.Tx]; one goroutine at a time uses it. Its statements
// are prepared once and kept.
type conn struct {
	*sqlite.Conn

	steady  map[string]string // the text that is prepared for a statement
	known   *store.Migrations // those that the program knows
	applied []store.Migration // by this connection

	changedPets []int64 // workspaces of which the writer's transaction changes pets
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

// prepare returns a statement whose plan stays. SQLite plans one anew each time that a value
// is bound which the plan may depend on, such as that of LIMIT, or one that is compared with
// a column of a partial index. It does not look at the value of a parameter behind a plus
// sign, which changes nothing else.
func (c *conn) prepare(query string) (*sqlite.Stmt, error) {
	steady, ok := c.steady[query]
	if !ok {
		if c.steady == nil {
			c.steady = make(map[string]string)
		}
		steady = strings.ReplaceAll(query, "$", "+$")
		c.steady[query] = steady
	}
	return c.Prepare(steady)
}

// Query implements [store.Tx].
func (c *conn) Query(query string, args ...any) iter.Seq2[store.Row, error] {
	return func(yield func(store.Row, error) bool) {
		stmt, err := c.prepare(query)
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
			if !found || !yield(sqlRow{stmt}, nil) {
				return
			}
		}
	}
}

// exec runs a statement and drops its rows.
func (c *conn) exec(query string, args ...any) error { return store.Each(c, query, nil, args...) }

// Exec implements [store.Tx].
func (c *conn) Exec(query string, args ...any) (int64, error) {
	err := c.exec(query, args...)
	return int64(c.Changes()), err
}

// Run implements [store.Tx].
func (c *conn) Run(b *store.Batch) error {
	for i := range b.Statements {
		s := &b.Statements[i]
		if err := store.Each(c, s.Query, s.Row, s.Args...); err != nil {
			return err
		}
	}
	return nil
}

// first reads the first row of a statement. Without one the columns stay as they are.
func (c *conn) first(query string, columns ...any) error {
	_, err := store.First(c, query, func(r store.Row) error { return r.Scan(columns...) })
	return err
}

// number returns the number in the first column of a statement's first row.
func (c *conn) number(query string) (n int64, err error) {
	err = c.first(query, &n)
	return n, err
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

// An sqlRow is a row of a statement, until its next step.
type sqlRow struct{ stmt *sqlite.Stmt }

// valueOf returns the value of a column as int64, string, []byte or nil: no table of ours
// has others.
func valueOf(row *sqlite.Stmt, i int) any {
	switch row.ColumnType(i) {
	case sqlite.TypeInteger:
		return row.ColumnInt64(i)
	case sqlite.TypeText:
		return row.ColumnText(i)
	case sqlite.TypeBlob:
		b := make([]byte, row.ColumnLen(i))
		row.ColumnBytes(i, b)
		return b
	}
	return nil
}

func (r sqlRow) Scan(columns ...any) error {
	for i, column := range columns {
		switch v := column.(type) {
		case *int64:
			*v = r.stmt.ColumnInt64(i)
		case *bool:
			*v = r.stmt.ColumnBool(i)
		case *string:
			*v = r.stmt.ColumnText(i)
		case *petstore.Status:
			*v = petstore.Status(r.stmt.ColumnText(i))
		case *[]byte:
			*v = make([]byte, r.stmt.ColumnLen(i))
			r.stmt.ColumnBytes(i, *v)
		case **int64:
			*v = nil
			if !r.stmt.ColumnIsNull(i) {
				*v = new(r.stmt.ColumnInt64(i))
			}
		case **string:
			*v = nil
			if !r.stmt.ColumnIsNull(i) {
				*v = new(r.stmt.ColumnText(i))
			}
		case *any:
			*v = valueOf(r.stmt, i)
		default:
			return fmt.Errorf("no column is read into a %T", column)
		}
	}
	return nil
}
