//go:build linux

package faults

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// tables are those of a database, read without the program under test.
type tables interface {
	// each calls row with the columns of every row of a query, all integers.
	each(query string, row func([]int64)) error
	// damage returns what the database's own checks find.
	damage() ([]string, error)
	close() error
}

// openTables opens the database in dir, or the one at url unless that is empty.
func openTables(dir, url string) (tables, error) {
	if url == "" {
		c, err := sqlite.OpenConn(filepath.Join(dir, "petstore.db"), sqlite.OpenReadWrite)
		return file{c}, err
	}
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	config.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite // of several hosts, the primary
	config.RuntimeParams["search_path"] = "petstore, public"
	c, err := pgx.ConnectConfig(context.Background(), config)
	return server{c}, err
}

// file is a database of SQLite.
type file struct{ *sqlite.Conn }

func (f file) close() error { return f.Close() }

func (f file) each(query string, row func([]int64)) error {
	var values []int64
	return sqlitex.ExecuteTransient(f.Conn, query, &sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
		values = values[:0]
		for i := range stmt.ColumnCount() {
			values = append(values, stmt.ColumnInt64(i))
		}
		row(values)
		return nil
	}})
}

func (f file) damage() (found []string, err error) {
	for _, query := range []string{"PRAGMA integrity_check", "PRAGMA foreign_key_check"} {
		err := sqlitex.ExecuteTransient(f.Conn, query, &sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
			if text := stmt.ColumnText(0); text != "ok" {
				found = append(found, query+": "+text)
			}
			return nil
		}})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", query, err)
		}
	}
	return found, nil
}

// server is a database of PostgreSQL.
type server struct{ *pgx.Conn }

func (s server) close() error { return s.Close(context.Background()) }

func (s server) each(query string, row func([]int64)) error {
	rows, err := s.Query(context.Background(), query)
	if err != nil {
		return err
	}
	defer rows.Close()
	values := make([]int64, len(rows.FieldDescriptions()))
	into := make([]any, len(values))
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		row(values)
	}
	return rows.Err()
}

// damage reads every table and index with amcheck, which ends with an error
// where they disagree, and looks for pets without a category.
func (s server) damage() (found []string, err error) {
	const indexes = `SELECT count(bt_index_parent_check(c.oid, true)) FROM pg_class c JOIN pg_am a ON a.oid = c.relam
		WHERE c.relkind = 'i' AND a.amname = 'btree' AND c.relnamespace = 'petstore'::regnamespace`
	if _, err := s.Exec(context.Background(), "CREATE EXTENSION IF NOT EXISTS amcheck"); err != nil {
		return nil, err
	}
	checked := int64(0)
	if err := s.each(indexes, func(row []int64) { checked = row[0] }); err != nil {
		found = append(found, err.Error())
	} else if checked < 10 {
		return nil, fmt.Errorf("%d indexes were checked, want all", checked)
	}
	const heaps = `SELECT count(*) FROM pg_class c, verify_heapam(c.oid) WHERE c.relkind = 'r' AND c.relnamespace = 'petstore'::regnamespace`
	const orphans = `SELECT count(*) FROM pets p WHERE NOT EXISTS (SELECT FROM categories c WHERE c.workspace = p.workspace AND c.id = p.category)`
	for _, query := range []string{heaps, orphans} {
		err := s.each(query, func(row []int64) {
			if row[0] != 0 {
				found = append(found, fmt.Sprintf("%d rows of %s", row[0], query))
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}
