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

// Script returns the SQL of a version.
func (s *Migrations) Script(version int) string { return s.scripts[version-1] }

// ErrNewer says that a newer version of the program has migrated the database.
var ErrNewer = errors.New("was made by a newer version of petstore")

// Newer returns ErrNewer with the version that a database has.
func (s *Migrations) Newer(has int) error {
	return fmt.Errorf("%w (schema %d; this one knows 1 to %d)", ErrNewer, has, s.Latest())
}

// All returns all migrations, as of a database that has none.
func (s *Migrations) All() []Migration { return slices.Clone(s.all) }

// Of returns all migrations, and marks those as applied that are in a database's table of
// migrations. It returns ErrNewer if that has some which it does not know.
func (s *Migrations) Of(tx Tx) ([]Migration, error) {
	status := s.All()
	for row, err := range tx.Query("SELECT version, name, at FROM migrations ORDER BY version DESC") {
		m, version, millis := Migration{Applied: true}, int64(0), int64(0)
		if err == nil {
			err = row.Scan(&version, &m.Name, &millis)
		}
		if err != nil {
			return nil, err
		}
		if version > int64(s.Latest()) {
			return nil, s.Newer(int(version))
		}
		m.Version, m.At = int(version), time.UnixMilli(millis).UTC()
		status[version-1] = m
	}
	return status, nil
}

// Lacking returns an error if a migration was not applied.
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
	return fmt.Errorf("lacks %d of %d migrations; run petstore migrate up", n, len(status))
}

// Up applies the migrations that are missing, in their order, and returns them. apply
// reports false if another process has applied one meanwhile.
func (s *Migrations) Up(status []Migration, now func() time.Time, apply func(m Migration, script string) (bool, error)) (applied []Migration, err error) {
	for _, m := range status {
		if m.Applied {
			continue
		}
		m.At = now().UTC().Truncate(time.Millisecond)
		did, err := apply(m, s.Script(m.Version))
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
