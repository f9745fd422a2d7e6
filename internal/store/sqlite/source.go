package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"zombiezen.com/go/sqlite"
)

// A Source gives away all that a file holds, row by row, for another kind of
// store. One goroutine at a time uses it.
type Source struct {
	conn *conn
	path string
}

// OpenSource opens the file at path for nobody else: until Close no process can
// open it. It returns ErrInUse, with the path, if one has it open, and refuses a
// file that is not ours or not up to date, or has a log that is not its own. Only MarkMoved changes the file.
func OpenSource(ctx context.Context, path string) (*Source, error) {
	s, err := openSource(path)
	if err != nil {
		return nil, fmt.Errorf("database %s: %w", path, err)
	}
	s.conn.SetInterrupt(ctx.Done())
	return s, nil
}

func openSource(path string) (*Source, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, fileError(path, err)
	}
	abs, err := prepareFile(path, Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	if err := refuseForeignLog(abs); err != nil {
		return nil, err
	}
	c, err := openConn(abs, false)
	if err != nil {
		return nil, explain(err)
	}
	if err := c.becomeSource(); err != nil {
		return nil, errors.Join(explain(err), c.Close())
	}
	return &Source{conn: c, path: path}, nil
}

func (c *conn) becomeSource() error {
	if ours, err := c.isOurs(); err != nil || !ours {
		return errors.Join(err, errEmpty)
	}
	if err := c.becomeCurrent(context.Background(), Options{NoMigrate: true}); err != nil {
		return err
	}
	c.SetBusyTimeout(0)
	return c.lockAlone()
}

// MarkMoved notes, durably, that all the file holds is now in the database called to:
// nobody opens the file any more, but for another OpenSource. It must be the last call
// before Close.
func (s *Source) MarkMoved(to string) error {
	return s.named(errors.Join(s.conn.exec("INSERT INTO meta (name, value) VALUES ('moved', CAST(? AS BLOB)) ON CONFLICT (name) DO UPDATE SET value = excluded.value", to),
		s.conn.exec("COMMIT")))
}

// ErrMoved is the beginning of the error of a file that was moved to another database.
var ErrMoved = errors.New("was moved to")

// refuseMoved returns ErrMoved with the address of the database that the file was moved to,
// if it was.
func (c *conn) refuseMoved() error {
	if ours, err := c.isOurs(); err != nil || !ours {
		return err
	}
	to, err := c.text("SELECT coalesce((SELECT CAST(value AS TEXT) FROM meta WHERE name = 'moved'), '')")
	if err == nil && to != "" {
		err = fmt.Errorf("%w %s: name that with --db, or in the variable PETSTORE_DB", ErrMoved, to)
	}
	return err
}

// Close lets others have the file.
func (s *Source) Close() (err error) {
	s.conn.SetInterrupt(nil) // else the transaction could not end
	if !s.conn.AutocommitEnabled() {
		err = s.conn.exec("ROLLBACK")
	}
	return errors.Join(err, s.conn.Close())
}

// Tables returns the names of the tables, and of each its columns. The
// migrations, which are the file's own, are left out.
func (s *Source) Tables() (map[string][]string, error) {
	tables := map[string][]string{}
	for row, err := range s.conn.query(`SELECT t.name, c.name FROM pragma_table_list t JOIN pragma_table_info(t.name) c
		WHERE t.schema='main' AND t.type='table' AND t.name NOT LIKE 'sqlite\_%' ESCAPE '\' AND t.name <> 'migrations' ORDER BY t.name, c.cid`) {
		if err != nil {
			return nil, s.named(err)
		}
		name := row.ColumnText(0)
		tables[name] = append(tables[name], row.ColumnText(1))
	}
	return tables, nil
}

// A Start is what stands before all rows: what the store notes of itself, by name,
// such as its secret, and the state of access with its floor.
type Start struct {
	Meta         map[string][]byte
	State, Floor int64
}

// Start returns what a move begins with.
func (s *Source) Start() (start Start, err error) {
	start.Meta = map[string][]byte{}
	for row, err := range s.conn.query("SELECT m.name, m.value, a.state, a.floor FROM meta m, access_state a WHERE m.name='secret' OR m.name LIKE 'import:%'") {
		if err != nil {
			return start, s.named(err)
		}
		value := make([]byte, row.ColumnLen(1))
		row.ColumnBytes(1, value)
		start.Meta[row.ColumnText(0)] = value
		start.State, start.Floor = row.ColumnInt64(2), row.ColumnInt64(3)
	}
	if len(start.Meta["secret"]) == 0 {
		err = errors.New("has no secret: it was never opened by petstore serve")
	}
	return start, s.named(err)
}

// Count returns how many rows a table has.
func (s *Source) Count(table string) (n int64, err error) {
	n, err = s.conn.number("SELECT count(*) FROM " + quote(table))
	return n, s.named(err)
}

// LastID returns the last id that was issued for the rows of a table whose ids
// are in the column id.
func (s *Source) LastID(table string) (id int64, err error) {
	id, err = s.conn.number("SELECT max(coalesce((SELECT max(id) FROM "+quote(table)+"), 0), coalesce((SELECT seq FROM sqlite_sequence WHERE name=?), 0))", table)
	return id, s.named(err)
}

// Rows are rows of a table, one after the other.
type Rows struct {
	source *Source
	stmt   *sqlite.Stmt
	n      int
	err    error
}

// Rows returns the rows of a table. They are to be closed.
func (s *Source) Rows(table string, columns []string) (*Rows, error) {
	stmt, err := s.conn.Prepare("SELECT " + quoteAll(columns) + " FROM " + quote(table))
	if err != nil {
		return nil, s.named(err)
	}
	return &Rows{source: s, stmt: stmt, n: len(columns)}, nil
}

// Next reports whether there is another row, and goes to it.
func (r *Rows) Next() bool {
	found, err := r.stmt.Step()
	r.err = r.source.named(err)
	return found
}

// Values returns the values of the row's columns, as int64, string, []byte or nil.
func (r *Rows) Values() ([]any, error) { return valuesOf(r.stmt, r.n), nil }

// Err returns what Next failed with.
func (r *Rows) Err() error { return r.err }

// Close lets go of the rows.
func (r *Rows) Close() { _ = r.stmt.Reset() } // it says again what Next did

func valuesOf(row *sqlite.Stmt, n int) []any {
	values := make([]any, n)
	for i := range values {
		switch row.ColumnType(i) {
		case sqlite.TypeInteger:
			values[i] = row.ColumnInt64(i)
		case sqlite.TypeText:
			values[i] = row.ColumnText(i)
		case sqlite.TypeBlob:
			b := make([]byte, row.ColumnLen(i))
			row.ColumnBytes(i, b)
			values[i] = b
		case sqlite.TypeFloat: // no table of ours has one
			values[i] = row.ColumnFloat(i)
		case sqlite.TypeNull:
		}
	}
	return values
}

func (s *Source) named(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("database %s: %w", s.path, explain(err))
}

func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

func quoteAll(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = quote(name)
	}
	return strings.Join(quoted, ",")
}
