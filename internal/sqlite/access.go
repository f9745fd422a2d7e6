package sqlite

import (
	"context"
	"fmt"

	"example.com/petstore/internal/accesssql"
	"zombiezen.com/go/sqlite"
)

// accessDB lets [accesssql.Store] use a DB.
type accessDB struct{ db *DB }

func (a accessDB) Change(ctx context.Context, f func(accesssql.Tx) error) error {
	return a.db.change(ctx, func(c *conn) error { return f(accessTx{c}) })
}

func (a accessDB) Read(ctx context.Context, f func(accesssql.Tx) error) error {
	return a.db.read(ctx, func(c *conn) error { return f(accessTx{c}) })
}

// workspaceTables hold the rows of workspaces, those that refer to others first.
var workspaceTables = [...]string{"receipts", "movements", "departed", "orders", "pet_orders", "pets", "categories", "name_grams", "name_segments"}

func (accessDB) Empty(tx accesssql.Tx, workspace int64) error {
	for _, table := range workspaceTables {
		if _, err := tx.Exec("DELETE FROM "+table+" WHERE workspace = $1", workspace); err != nil {
			return err
		}
	}
	return nil
}

// An accessTx is the transaction of a connection.
type accessTx struct{ c *conn }

func (t accessTx) Exec(query string, args ...any) (int64, error) {
	if err := t.c.exec(query, args...); err != nil {
		return 0, err
	}
	return int64(t.c.Changes()), nil
}

func (t accessTx) Query(query string, row func(accesssql.Row) error, args ...any) error {
	var failed error
	err := t.c.each(query, func(stmt *sqlite.Stmt) {
		if failed == nil {
			failed = row(accessRow{stmt})
		}
	}, args...)
	if err == nil {
		err = failed
	}
	return err
}

type accessRow struct{ stmt *sqlite.Stmt }

func (r accessRow) Scan(columns ...any) error {
	for i, column := range columns {
		switch v := column.(type) {
		case *int64:
			*v = r.stmt.ColumnInt64(i)
		case *string:
			*v = r.stmt.ColumnText(i)
		case *[]byte:
			*v = make([]byte, r.stmt.ColumnLen(i))
			r.stmt.ColumnBytes(i, *v)
		default:
			return fmt.Errorf("no column is read into a %T", column)
		}
	}
	return nil
}

func (c *conn) hasWorkspace(id int64) error { return accesssql.HasWorkspace(accessTx{c}, id) }
