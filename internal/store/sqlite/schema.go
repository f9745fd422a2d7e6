package sqlite

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"time"

	"example.com/petstore/internal/store"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// applicationID marks a file as ours, in the header that SQLite keeps for this: "PETG"
// in ASCII. Files from before the first release, which had other tables, have another one.
const applicationID = 0x50455447

//go:embed migrations/*.sql
var migrationFiles embed.FS

// known are the migrations that this program knows.
var known = store.LoadMigrations(migrationFiles)

// HasMigrations reports whether the file is marked as ours. It returns an error for a file of
// another program, and false for an empty one.
func (c *conn) HasMigrations() (bool, error) {
	var id, tables int64
	// One statement, since another process may be creating the file.
	err := c.first("SELECT application_id, (SELECT count(*) FROM sqlite_schema) FROM pragma_application_id", &id, &tables)
	switch {
	case err != nil:
		return false, err
	case id == applicationID:
		return true, nil
	case id != 0 || tables > 0:
		return false, errors.New("is an SQLite database of another program, or of petstore before its first release")
	}
	return false, nil
}

// Exclusively implements [store.Migrated].
func (c *conn) Exclusively(f func() error) (err error) {
	end, err := sqlitex.ImmediateTransaction(c.Conn)
	if err != nil {
		return err
	}
	defer end(&err)
	return f()
}

// Script implements [store.Migrated].
func (c *conn) Script(text string) error { return sqlitex.ExecuteScript(c.Conn, text, nil) }

// becomeCurrent migrates the file to the latest schema, or returns an error if it lacks
// migrations and o does not allow to migrate.
func (c *conn) becomeCurrent(ctx context.Context, o Options) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	status, err := c.known.Status(c)
	if err != nil {
		return err
	}
	lacking := store.Lacking(status)
	if o.NoMigrate {
		return lacking
	}
	if err := c.useWAL(ctx); err != nil || lacking == nil {
		return err
	}
	c.applied, err = c.known.Up(c, o.Now)
	return err
}

// useWAL turns on write-ahead logging, with which readers do not wait for the writer.
// SQLite itself does not wait for another process here.
func (c *conn) useWAL(ctx context.Context) error {
	for deadline := time.Now().Add(busyTimeout); ; {
		mode := ""
		err := c.first("PRAGMA journal_mode=WAL", &mode)
		switch {
		case err == nil && mode == "wal":
			return nil
		case err == nil:
			return fmt.Errorf("cannot use write-ahead logging here (journal mode %s)", mode)
		case sqlite.ErrCode(err).ToPrimary() != sqlite.ResultBusy || time.Now().After(deadline):
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// MigrateStatus returns all migrations that the program knows and says which of
// them the file at path has. A file that does not exist has none, and is not
// created.
func MigrateStatus(ctx context.Context, path string) (all []store.Migration, err error) {
	err = inspect(ctx, path, func(c *conn) error {
		all, err = c.known.Status(c)
		return err
	})
	if errors.Is(err, ErrMissing) || errors.Is(err, errEmpty) {
		return known.All(), nil
	}
	return all, err
}

// MigrateUp creates the file if there is none, applies the migrations that it
// lacks, and returns those. A nil now is time.Now.
func MigrateUp(ctx context.Context, path string, now func() time.Time) ([]store.Migration, error) {
	db, err := Open(ctx, path, Options{Now: now, Readers: 1})
	if err != nil {
		return nil, err
	}
	return db.writer.applied, db.Close()
}
