package sqlite

import (
	"context"
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

// An engine is a DB as [store.Store] uses it.
type engine struct{ db *DB }

func (a engine) Change(ctx context.Context, f func(store.Tx) error) error {
	return a.db.change(ctx, func(c *conn) error { return f(sqlTx{c}) })
}

func (a engine) Write(ctx context.Context, f func(store.Tx) error) error {
	return a.Change(ctx, f)
}

func (a engine) Read(ctx context.Context, f func(store.Tx) error) error {
	return a.db.read(ctx, func(c *conn) error { return f(sqlTx{c}) })
}

func (a engine) LongRead(ctx context.Context, f func(store.Tx) error) error {
	return a.db.readLong(ctx, func(c *conn) error { return f(sqlTx{c}) })
}

func (a engine) Snapshot(ctx context.Context, f func(store.Tx) error) error {
	return a.db.readLong(ctx, snapshot(func(c *conn) error { return f(sqlTx{c}) }))
}

func (a engine) Step(ctx context.Context, f func(store.Tx) error) error {
	return a.db.changeMuch(ctx, func(c *conn) error { return f(sqlTx{c}) })
}

func (a engine) PetStep(ctx context.Context, f func(store.Tx) error) error {
	return a.db.changeMuch(ctx, func(c *conn) error {
		c.touched.all = true
		return f(sqlTx{c})
	})
}

// Bar has nothing to do: there is one writer, and each group looks who is barred.
func (engine) Bar(store.Tx, int64) error { return nil }

// Group finds the writer locked, see [store.Options].
func (a engine) Group(_ context.Context, g *store.Group) error {
	return a.db.transact(func(c *conn) error {
		err := g.Run(sqlTx{c})
		c.touched.workspaces = append(c.touched.workspaces, g.Workspaces()...)
		return err
	})
}

func (a engine) Load(ctx context.Context, l *store.Load) error {
	return a.db.changeMuch(ctx, func(c *conn) error {
		c.touched.workspaces = append(c.touched.workspaces, l.Workspace())
		return l.Run(sqlTx{c})
	})
}

// dialect is what SQLite says in its own way. One transaction at a time writes, which is a
// lock on everything. The plus sign keeps SQLite from planning a statement anew for each
// value that is bound. Left to itself it would read past rows in the primary key rather
// than take an index.
var dialect = store.Dialect{
	Among:       among,
	Rename:      renamePet,
	RemoveNames: removeNames,
	Parameter:   "+$",
	Contains:    "instr(folded, ?) > 0",
	LowStock:    "quantity <= ? AND quantity <= 100",
	Hint:        func(index string) string { return " INDEXED BY " + index },
	Search:      searchNames,

	Ledgers:         ledgers,
	RaiseWorkspaces: "UPDATE sqlite_sequence SET seq = " + store.Raised("seq") + " WHERE name = 'workspaces'",
	CheckStructure:  checkStructure,
	CheckRows:       checkNames,
}

func among(ids []int64) (condition string, arg any) {
	text := []byte("[")
	for i, id := range ids {
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendInt(text, id, 10)
	}
	return " IN (SELECT value FROM json_each($2))", string(append(text, ']'))
}

// An sqlTx is the transaction of a connection.
type sqlTx struct{ c *conn }

func (t sqlTx) Exec(query string, args ...any) (int64, error) {
	if err := t.c.exec(query, args...); err != nil {
		return 0, err
	}
	return int64(t.c.Changes()), nil
}

func (t sqlTx) Query(query string, args ...any) iter.Seq2[store.Row, error] {
	return func(yield func(store.Row, error) bool) {
		for stmt, err := range t.c.query(query, args...) {
			if !yield(sqlRow{stmt}, err) {
				return
			}
		}
	}
}

func (t sqlTx) Run(b *store.Batch) error {
	for i := range b.Statements {
		s := &b.Statements[i]
		if err := t.c.run(s.Query, s.Args, s.Row); err != nil {
			return err
		}
	}
	return nil
}

func (t sqlTx) Fill(table string, columns []string, rows [][]any) error {
	query := "INSERT INTO " + table + " (" + strings.Join(columns, ", ") + ") VALUES (?" + strings.Repeat(", ?", len(columns)-1) + ")"
	for _, row := range rows {
		if err := t.c.run(query, row, nil); err != nil {
			return err
		}
	}
	return nil
}

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
			*v = scanStatus(r.stmt, i)
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

// How long a command waits for the server, and how often it looks.
const (
	awaitFollower = time.Second
	lookFollower  = 5 * time.Millisecond
)

// Followed implements [access.Store].
func (a engine) Followed(ctx context.Context, state int64) error {
	return a.db.change(ctx, func(c *conn) error {
		return c.exec("INSERT INTO meta (name, value) VALUES ('followed', CAST(CAST(? AS TEXT) AS BLOB)) ON CONFLICT (name) DO UPDATE SET value = excluded.value", state)
	})
}

// AwaitFollower implements [access.Store].
func (a engine) AwaitFollower(ctx context.Context) (bool, error) {
	if err := whileUnserved(a.db.path, func() error { return nil }); !errors.Is(err, errServed) {
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

// scanStatus reads a status without allocating one.
func scanStatus(row *sqlite.Stmt, col int) petstore.Status {
	var text [16]byte
	n := row.ColumnBytes(col, text[:])
	switch string(text[:n]) {
	case string(petstore.Available):
		return petstore.Available
	case string(petstore.Pending):
		return petstore.Pending
	}
	return petstore.Sold
}
