package postgres

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"example.com/petstore/internal/store"
	"github.com/jackc/pgx/v5"
)

// moveLock is the key of the advisory lock of who fills a database.
const moveLock int64 = 0x5045_5453_0000_0003

// leaveTimeout is how long sessions of a process that was killed may linger.
const leaveTimeout = 5 * time.Second

// A Target is a database that is filled: see [store.MoveTarget]. One goroutine at a time
// uses it.
type Target struct {
	sqlTx
	conn *pgx.Conn
	name string
}

// OpenTarget makes and migrates the database at url, as Open does, and keeps
// others from filling it until Close. It is refused while a node is connected.
func OpenTarget(ctx context.Context, url string, now func() time.Time) (*Target, error) {
	name, err := describe(url)
	if err != nil {
		return nil, err
	}
	if _, err := MigrateUp(ctx, url, now); err != nil {
		return nil, err
	}
	c, err := connect(ctx, url, administering)
	if err != nil {
		return nil, fmt.Errorf("database %s: %w", name, err)
	}
	t := &Target{sqlTx{ctx, c}, c, name}
	if err := t.alone(ctx); err != nil {
		return nil, errors.Join(t.named(err), c.Close(context.WithoutCancel(ctx)))
	}
	return t, nil
}

// Close disconnects.
func (t *Target) Close(ctx context.Context) error {
	return t.named(t.conn.Close(context.WithoutCancel(ctx)))
}

func (t *Target) named(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("database %s: %w", t.name, err)
}

// alone makes sure that no node and no other move is at the database. It waits
// a moment: the sessions of a process that was killed may not have ended yet.
func (t *Target) alone(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, leaveTimeout)
	defer cancel()
	for n := 0; ; n++ {
		var locked bool
		var others int
		err := t.conn.QueryRow(ctx, `SELECT pg_try_advisory_lock($1), (SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name = 'petstore')`, moveLock).Scan(&locked, &others)
		if err != nil {
			return err
		}
		if locked && others == 0 {
			return nil
		}
		if pause(ctx, min(n, 4)) == nil {
			continue
		}
		if !locked {
			return errors.New("another migrate-store is filling it")
		}
		return fmt.Errorf("is in use: stop the nodes that are connected to it first (%d sessions)", others)
	}
}

// Columns implements [store.MoveTarget].
func (t *Target) Columns() (all []store.MovedColumn, err error) {
	for row, err := range t.Query(`SELECT r.relname::text, a.attname::text, a.atttypid = 'boolean'::regtype
		FROM pg_class r JOIN pg_attribute a ON a.attrelid = r.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
		WHERE r.relnamespace = $1::text::regnamespace AND r.relkind IN ('r', 'p') AND NOT r.relispartition AND r.relname NOT IN ('migrations', 'meta', 'access_state')
		ORDER BY r.relname NOT IN ('workspaces', 'api_keys', 'categories'), r.relname = 'api_keys', r.relname, a.attnum`, schema) {
		var c store.MovedColumn
		if err == nil {
			err = row.Scan(&c.Table, &c.Name, &c.Boolean)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// Query implements [store.Tx].
func (t *Target) Query(query string, args ...any) iter.Seq2[store.Row, error] {
	return func(yield func(store.Row, error) bool) {
		for row, err := range t.sqlTx.Query(query, args...) {
			if !yield(row, t.named(err)) {
				return
			}
		}
	}
}

// Transaction implements [store.MoveTarget].
func (t *Target) Transaction(f func(store.Tx) error) error {
	return t.named(pgx.BeginFunc(t.ctx, t.conn, func(tx pgx.Tx) error { return f(sqlTx{t.ctx, tx}) }))
}

// Empty implements [store.MoveTarget].
func (*Target) Empty(tx store.Tx, tables []string) error {
	_, err := tx.Exec("TRUNCATE " + strings.Join(tables, ", ") + " CASCADE")
	return err
}

// Finish implements [store.MoveTarget].
func (t *Target) Finish(last map[string]int64) error {
	err := t.Transaction(func(tx store.Tx) error {
		var counted []string
		for row, err := range tx.Query(`SELECT r.relname::text FROM pg_class r JOIN pg_attribute a ON a.attrelid = r.oid
			WHERE r.relnamespace = $1::text::regnamespace AND a.attname = 'id' AND a.attidentity <> ''`, schema) {
			var table string
			if err == nil {
				err = row.Scan(&table)
			}
			if err != nil {
				return err
			}
			counted = append(counted, table)
		}
		for _, table := range counted {
			_, err := tx.Exec("SELECT setval(pg_get_serial_sequence($1, 'id'), greatest(id, 1), id > 0) FROM (SELECT greatest(max(id), $2::bigint, 0) AS id FROM "+table+") AS last",
				table, last[table])
			if err != nil {
				return err
			}
		}
		_, err := tx.Exec("DELETE FROM meta WHERE name = $1", store.MoveNote)
		return err
	})
	if err != nil {
		return err
	}
	columns, err := t.Columns()
	if err != nil {
		return err
	}
	var tables []string
	for _, c := range columns {
		tables = append(tables, c.Table)
	}
	_, err = t.Exec("ANALYZE " + strings.Join(slices.Compact(tables), ", "))
	return t.named(err)
}

// refuseHalf returns an error if the database holds a part of what is moved into it.
func refuseHalf(ctx context.Context, c querier) error {
	var half bool
	err := c.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM meta WHERE name = $1)", store.MoveNote).Scan(&half)
	if err == nil && half {
		err = errors.New("holds a part of what petstore migrate-store moves into it; run that again to its end")
	}
	return err
}
