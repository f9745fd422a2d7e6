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

// errOlder says that the database has tables of a program from before the first
// release, which had other migrations.
var errOlder = errors.New("was made by a version of petstore from before the first release, whose tables this one cannot read; " +
	"export each workspace with the old version, and import it into a new database")

// MigrateStatus returns all migrations that the program knows and says which of
// them the database has. It changes nothing. Errors are as those of [Open].
func MigrateStatus(ctx context.Context, url string) (all []store.Migration, err error) {
	err = administer(ctx, url, func(c *pgx.Conn) error {
		all, err = status(ctx, c, known)
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
	err = administer(ctx, url, func(c *pgx.Conn) error {
		applied, err = migrate(ctx, c, known, now)
		return err
	})
	return applied, err
}

// administer calls f with a connection for long work.
func administer(ctx context.Context, url string, f func(*pgx.Conn) error) error {
	name, err := describe(url)
	if err != nil {
		return err
	}
	c, err := connect(ctx, url, administering)
	if err == nil {
		err = errors.Join(f(c), c.Close(context.WithoutCancel(ctx)))
	}
	if err != nil {
		return fmt.Errorf("database %s: %w", name, err)
	}
	return nil
}

// becomeCurrent brings the schema up to date, or with o.NoMigrate returns an error if it
// is not, and continues the database's history.
func becomeCurrent(ctx context.Context, url string, o Options) error {
	c, err := connect(ctx, url, administering)
	if err != nil {
		return err
	}
	defer c.Close(context.WithoutCancel(ctx))
	if o.NoMigrate {
		var all []store.Migration
		if all, err = status(ctx, c, known); err == nil {
			err = store.Lacking(all)
		}
	} else {
		_, err = migrate(ctx, c, known, o.Now)
	}
	if err == nil {
		err = refuseFilling(ctx, c)
	}
	if err != nil || o.NoMigrate { // a caller that only reads does not change the history
		return err
	}
	if err = continueHistory(ctx, c, o.Now, o.Log); errors.Is(err, errReplica) {
		return nil // until it is promoted, nothing is written
	}
	return err
}

// status returns the migrations of set, and says which the database has. It refuses a
// newer database, and one from before the first release.
func status(ctx context.Context, c *pgx.Conn, set *store.Migrations) ([]store.Migration, error) {
	there, err := hasMigrations(ctx, c)
	if err != nil {
		return nil, err
	}
	if !there {
		return set.All(), nil
	}
	var older bool
	err = c.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM migrations WHERE version = 1 AND name IN ('init', 'tables', 'shop'))").Scan(&older)
	if err == nil && older {
		err = errOlder
	}
	if err != nil {
		return nil, err
	}
	return set.Of(sqlTx{ctx, c})
}

// migrate applies what the database lacks of set, and returns it. A database that
// lacks nothing is not written to.
func migrate(ctx context.Context, c *pgx.Conn, set *store.Migrations, now func() time.Time) ([]store.Migration, error) {
	all, err := status(ctx, c, set)
	if err != nil {
		return nil, err
	}
	return set.Up(all, now, func(m store.Migration, script string) (bool, error) {
		return apply(ctx, c, m, script)
	})
}

// apply carries out one migration in a transaction of its own, unless another node has
// done so. One node at a time migrates.
func apply(ctx context.Context, c *pgx.Conn, m store.Migration, script string) (did bool, err error) {
	err = pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
		if err := prepare(ctx, tx); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, "INSERT INTO migrations (version, name, at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
			m.Version, m.Name, m.At.UnixMilli())
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		did = true
		_, err = tx.Conn().PgConn().Exec(ctx, script).ReadAll()
		if err != nil || m.Version > 1 {
			return err
		}
		return store.CreateSecret(sqlTx{ctx, tx})
	})
	return did && err == nil, err
}

// prepare waits for other nodes that migrate, and creates the schema and the table of
// migrations if they do not exist.
func prepare(ctx context.Context, tx pgx.Tx) error {
	if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", migrationLock); err != nil {
		return err
	}
	if there, err := hasMigrations(ctx, tx); err != nil || there {
		return err
	}
	_, err := tx.Conn().PgConn().Exec(ctx, "CREATE SCHEMA IF NOT EXISTS petstore;"+
		"CREATE TABLE migrations (version integer PRIMARY KEY, name text NOT NULL, at bigint NOT NULL)").ReadAll()
	return err
}

// hasMigrations reports whether there is a table of migrations. It reads the
// catalogue itself: to_regclass may still answer as it was before a lock was waited for.
func hasMigrations(ctx context.Context, c querier) (there bool, err error) {
	err = c.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = $1 AND c.relname = 'migrations')`, schema).Scan(&there)
	return there, err
}
