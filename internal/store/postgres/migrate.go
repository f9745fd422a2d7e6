package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"time"

	"example.com/petstore/internal/store"
	"github.com/jackc/pgx/v5"
)

// schema is the schema that holds this program's tables.
const schema = "petstore"

//go:embed migrations/*.sql
var migrationFiles embed.FS

// known are the migrations that this program knows.
var known = store.LoadMigrations(migrationFiles)

// MigrateStatus returns all migrations that the program knows and says which of
// them the database has. It changes nothing. Errors are as those of [Open].
func MigrateStatus(ctx context.Context, url string) (all []store.Migration, err error) {
	err = administer(ctx, url, func(c migrated) error {
		all, err = known.Status(c)
		return err
	})
	return all, err
}

// MigrateUp applies the migrations that the database lacks, and returns those.
// Nodes that migrate at the same time wait for each other. A nil now is
// time.Now.
func MigrateUp(ctx context.Context, url string, now func() time.Time) (applied []store.Migration, err error) {
	if now == nil {
		now = time.Now
	}
	err = administer(ctx, url, func(c migrated) error {
		applied, err = known.Up(c, now)
		return err
	})
	return applied, err
}

// administer calls f with a connection for long work.
func administer(ctx context.Context, url string, f func(migrated) error) error {
	name, err := describe(url)
	if err != nil {
		return err
	}
	c, err := connect(ctx, url, administering)
	if err == nil {
		err = errors.Join(f(migrated{sqlTx{ctx, c}, c}), c.Close(context.WithoutCancel(ctx)))
	}
	if err != nil {
		return fmt.Errorf("database %s: %w", name, err)
	}
	return nil
}

// A migrated is a connection as a [store.Migrated].
type migrated struct {
	sqlTx
	conn *pgx.Conn
}

// becomeCurrent brings the schema up to date, or with o.NoMigrate returns an error if it
// is not, and continues the database's history.
func (m migrated) becomeCurrent(o Options) error {
	status, err := known.Status(m)
	if err != nil {
		return err
	}
	if err = store.Lacking(status); err != nil && !o.NoMigrate {
		_, err = known.Up(m, o.Now)
	}
	if err == nil {
		err = refuseFilling(m.ctx, m.conn)
	}
	if err != nil || o.NoMigrate { // a caller that only reads does not change the history
		return err
	}
	if err = continueHistory(m.ctx, m.conn, o.Now, o.Log); errors.Is(err, errReplica) {
		return nil // until it is promoted, nothing is written
	}
	return err
}

// HasMigrations reads the catalogue itself: to_regclass may still answer as it was before a
// lock was waited for.
func (m migrated) HasMigrations() (there bool, err error) {
	err = m.conn.QueryRow(m.ctx, `SELECT EXISTS (SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = $1 AND c.relname = 'migrations')`, schema).Scan(&there)
	return there, err
}

// Exclusively waits for other nodes that migrate.
func (m migrated) Exclusively(f func() error) error {
	return pgx.BeginFunc(m.ctx, m.conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(m.ctx, "SELECT pg_advisory_xact_lock($1)", migrationLock); err != nil {
			return err
		}
		return f()
	})
}

// Script implements [store.Migrated].
func (m migrated) Script(text string) error {
	_, err := m.conn.PgConn().Exec(m.ctx, text).ReadAll()
	return err
}
