package store

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Migration is a step of the schema.
type Migration struct {
	Version int       `json:"version"`
	Name    string    `json:"name"`
	Applied bool      `json:"applied"`
	At      time.Time `json:"appliedAt,omitzero"` // zero if it was not applied
}

// Migrations are those that a program knows.
type Migrations struct {
	all     []Migration
	scripts []string
}

// LoadMigrations reads the files of the directory migrations, which are embedded. They are
// named VERSION_NAME.sql, VERSION counting from 1. It panics if they are not.
func LoadMigrations(files fs.FS) *Migrations {
	names, err := fs.Glob(files, "migrations/*.sql")
	s := new(Migrations)
	for i, name := range names {
		number, title, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(name, "migrations/"), ".sql"), "_")
		if version, err := strconv.Atoi(number); err != nil || version != i+1 {
			panic(fmt.Sprintf("%s: want the version %d", name, i+1))
		}
		script, unread := fs.ReadFile(files, name)
		err = errors.Join(err, unread)
		s.all = append(s.all, Migration{Version: i + 1, Name: title})
		s.scripts = append(s.scripts, string(script))
	}
	if err != nil {
		panic(err)
	}
	return s
}

// Latest returns the version of the last migration.
func (s *Migrations) Latest() int { return len(s.all) }

// ErrNewer says that a newer version of the program has migrated the database.
var ErrNewer = errors.New("was made by a newer version of petstore")

// All returns all migrations, as of a database that has none.
func (s *Migrations) All() []Migration { return slices.Clone(s.all) }

// A Migrated is a database that has migrations, or will. Its scripts set what it reads
// itself, as its mark or a number of the schema.
type Migrated interface {
	Tx
	// HasMigrations reports whether there is a table of migrations. It returns an error for
	// a database that is not ours.
	HasMigrations() (bool, error)
	// Exclusively calls f in a transaction of the Migrated, beside no other process's.
	Exclusively(f func() error) error
	// Script carries out the statements of a text.
	Script(text string) error
}

var errEarlier = errors.New("was made by a version of petstore from before the first release, and has other tables: " +
	"export each workspace with that version (petstore export), and import the files into a new database with this one (petstore import)")

// Status returns all migrations, and says which of them the database has. It returns
// ErrNewer if that has some which are not known, and errEarlier if it has others.
func (s *Migrations) Status(c Migrated) ([]Migration, error) {
	status := s.All()
	if there, err := c.HasMigrations(); err != nil || !there {
		return status, err
	}
	for row, err := range c.Query("SELECT version, name, at FROM migrations ORDER BY version") {
		m, version, millis := Migration{Applied: true}, int64(0), int64(0)
		if err == nil {
			err = row.Scan(&version, &m.Name, &millis)
		}
		if err != nil {
			return nil, err
		}
		if version > int64(s.Latest()) {
			return nil, fmt.Errorf("%w (schema %d; this one knows 1 to %d)", ErrNewer, version, s.Latest())
		}
		if m.Name != s.all[version-1].Name {
			return nil, errEarlier
		}
		m.Version, m.At = int(version), time.UnixMilli(millis).UTC()
		status[version-1] = m
	}
	return status, nil
}

// ErrLacking says that the database lacks migrations.
var ErrLacking = errors.New("run petstore migrate up")

// Lacking returns ErrLacking, with how many they are, if a migration was not applied.
func Lacking(status []Migration) error {
	n := 0
	for _, m := range status {
		if !m.Applied {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return fmt.Errorf("lacks %d of %d migrations; %w", n, len(status), ErrLacking)
}

// Up applies the migrations that the database lacks, in one transaction, and returns them. A
// database that lacks none is not written to.
func (s *Migrations) Up(c Migrated, now func() time.Time) (applied []Migration, err error) {
	status, err := s.Status(c)
	if err != nil || Lacking(status) == nil {
		return nil, err
	}
	err = c.Exclusively(func() error {
		if status, err = s.Status(c); err != nil { // another process may have migrated it
			return err
		}
		for _, m := range status {
			if m.Applied {
				continue
			}
			m.Applied, m.At = true, now().UTC().Truncate(time.Millisecond)
			if err := s.apply(c, m); err != nil {
				return fmt.Errorf("migration %d (%s): %w", m.Version, m.Name, err)
			}
			applied = append(applied, m)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return applied, nil
}

func (s *Migrations) apply(c Migrated, m Migration) error {
	if err := c.Script(s.scripts[m.Version-1]); err != nil {
		return err
	}
	if m.Version == 1 {
		if err := CreateSecret(c); err != nil {
			return err
		}
	}
	return exec(c, "INSERT INTO migrations (version, name, at) VALUES ($1, $2, $3)", m.Version, m.Name, m.At.UnixMilli())
}
