package postgres

import (
	"context"
	"crypto/rand"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// schema is where our tables are, apart from those of others.
const schema = "petstore"

//go:embed migrations/*.sql
var migrationFiles embed.FS

// A Migration is a step of the schema.
type Migration struct {
	Version int
	Name    string
	Applied bool
	At      time.Time // when it was applied; zero if it was not
}

// firstWithBeside is the first migration that says which programs may go on
// beside it; earlier ones say it of none.
const firstWithBeside = 3

// migrations returns the steps that this program knows, the first one first.
// Their files are named VERSION_NAME.sql, VERSION counting from 1.
func migrations() ([]Migration, error) {
	names, err := fs.Glob(migrationFiles, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	known := make([]Migration, len(names))
	for i, name := range names {
		number, title, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(name, "migrations/"), ".sql"), "_")
		version, err := strconv.Atoi(number)
		if err != nil || version != i+1 {
			return nil, fmt.Errorf("%s: want the version %d", name, i+1)
		}
		known[i] = Migration{Version: version, Name: title}
	}
	return known, nil
}

// besideOf returns what the first line of a migration says: the schema that a
// program must know at least to go on beside a database that has this one.
//
//	-- beside: 2
//
// A migration without that line is beside nothing but itself.
func besideOf(m Migration, script []byte) int {
	line, _, _ := strings.Cut(string(script), "\n")
	if number, said := strings.CutPrefix(line, "-- beside: "); said {
		if beside, err := strconv.Atoi(strings.TrimSpace(number)); err == nil {
			return beside
		}
	}
	return m.Version
}

// MigrateStatus returns all migrations that the program knows and says which of
// them the database has. It changes nothing. Errors are as those of [Open].
func MigrateStatus(ctx context.Context, url string) (known []Migration, err error) {
	err = administer(ctx, url, func(c *pgx.Conn) error {
		known, err = status(ctx, c)
		return err
	})
	return known, err
}

// MigrateUp applies the migrations that the database lacks, and returns those.
// Nodes that migrate at the same time wait for each other. A nil now is
// time.Now.
func MigrateUp(ctx context.Context, url string, now func() time.Time) (applied []Migration, err error) {
	if now == nil {
		now = time.Now
	}
	err = administer(ctx, url, func(c *pgx.Conn) error {
		applied, err = migrate(ctx, c, now)
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
	c, err := connect(ctx, url)
	if err == nil {
		err = errors.Join(f(c), c.Close(context.WithoutCancel(ctx)))
	}
	if err != nil {
		return fmt.Errorf("database %s: %w", name, err)
	}
	return nil
}

// becomeCurrent makes sure that the schema is the newest, as o allows.
func becomeCurrent(ctx context.Context, url string, o Options) error {
	c, err := connect(ctx, url)
	if err != nil {
		return err
	}
	defer c.Close(context.WithoutCancel(ctx))
	if !o.NoMigrate {
		if _, err := migrate(ctx, c, o.Now); err != nil {
			return err
		}
		return refuseHalf(ctx, c)
	}
	known, err := status(ctx, c)
	if err != nil {
		return err
	}
	if n := pending(known); n > 0 {
		return fmt.Errorf("lacks %d of %d migrations; run petstore migrate up", n, len(known))
	}
	return refuseHalf(ctx, c)
}

func pending(known []Migration) (n int) {
	for _, m := range known {
		if !m.Applied {
			n++
		}
	}
	return n
}

// status returns the known migrations with what the database says of them. It
// refuses a database that is newer, unless each migration that is not known here
// lets programs of this schema go on beside it: so an upgrade can roll.
func status(ctx context.Context, c *pgx.Conn) ([]Migration, error) {
	known, err := migrations()
	if err != nil {
		return nil, err
	}
	if there, err := begun(ctx, c); err != nil || !there {
		return known, err
	}
	// The column beside came later than the table.
	rows, err := c.Query(ctx, `SELECT version, name, at, coalesce((to_jsonb(m)->>'beside')::integer, version)
		FROM migrations m ORDER BY version`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	latest, needed := 0, 0
	err = each(func(row pgx.Rows) error {
		var (
			name   string
			at     int64
			beside int
		)
		if err := row.Scan(&latest, &name, &at, &beside); err != nil {
			return err
		}
		if latest > len(known) {
			needed = max(needed, beside)
			return nil
		}
		known[latest-1] = Migration{Version: latest, Name: name, Applied: true, At: time.UnixMilli(at).UTC()}
		return nil
	})(rows)
	if err == nil && needed > len(known) {
		err = fmt.Errorf("was made by a newer version of petstore (schema %d; this one knows 1 to %d, and %d are needed)",
			latest, len(known), needed)
	}
	return known, err
}

// migrate applies what is missing, and returns it. A database that lacks
// nothing is not written to.
func migrate(ctx context.Context, c *pgx.Conn, now func() time.Time) ([]Migration, error) {
	known, err := status(ctx, c)
	if err != nil {
		return nil, err
	}
	var applied []Migration
	for _, m := range known {
		if m.Applied {
			continue
		}
		m.At = now().UTC()
		did, err := apply(ctx, c, m)
		if err != nil {
			return applied, fmt.Errorf("migration %d (%s): %w", m.Version, m.Name, err)
		}
		if did {
			m.Applied = true
			applied = append(applied, m)
		}
	}
	return applied, nil
}

// apply carries out one migration in a transaction of its own, unless another
// node was faster: one at a time migrates.
func apply(ctx context.Context, c *pgx.Conn, m Migration) (did bool, err error) {
	script, err := fs.ReadFile(migrationFiles, fmt.Sprintf("migrations/%04d_%s.sql", m.Version, m.Name))
	if err != nil {
		return false, err
	}
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
		if _, err := tx.Conn().PgConn().Exec(ctx, string(script)).ReadAll(); err != nil {
			return err
		}
		if err := noteBeside(ctx, tx, m, script); err != nil {
			return err
		}
		return sign(ctx, tx, m)
	})
	return did && err == nil, err
}

// noteBeside writes down who may go on beside a migration, for programs that do
// not know it.
func noteBeside(ctx context.Context, tx pgx.Tx, m Migration, script []byte) error {
	if m.Version < firstWithBeside {
		return nil
	}
	_, err := tx.Exec(ctx, "UPDATE migrations SET beside = $2 WHERE version = $1", m.Version, besideOf(m, script))
	return err
}

// prepare waits for other nodes that migrate, and makes what the first
// migration needs.
func prepare(ctx context.Context, tx pgx.Tx) error {
	if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", migrationLock); err != nil {
		return err
	}
	if there, err := begun(ctx, tx); err != nil || there {
		return err
	}
	_, err := tx.Conn().PgConn().Exec(ctx, "CREATE SCHEMA IF NOT EXISTS petstore;"+
		"CREATE TABLE migrations (version integer PRIMARY KEY, name text NOT NULL, at bigint NOT NULL)").ReadAll()
	return err
}

// begun reports whether anything was ever migrated. It asks the catalogue
// itself: to_regclass may still say what was true before a lock was waited for.
func begun(ctx context.Context, c querier) (there bool, err error) {
	err = c.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = $1 AND c.relname = 'migrations')`, schema).Scan(&there)
	return there, err
}

// sign gives a new database its secret.
func sign(ctx context.Context, tx pgx.Tx, m Migration) error {
	if m.Version != 1 {
		return nil
	}
	secret := make([]byte, 32)
	rand.Read(secret) // never fails
	_, err := tx.Exec(ctx, "INSERT INTO meta (name, value) VALUES ('secret', $1)", secret)
	return err
}
