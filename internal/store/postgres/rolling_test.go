package postgres

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store"
	"github.com/jackc/pgx/v5"
)

// migrateFurther migrates a database as a later version would, with one more migration,
// which says which programs may go on beside it.
func migrateFurther(t *testing.T, url, beside string) {
	t.Helper()
	script := beside + "ALTER TABLE pets ADD COLUMN colour text NOT NULL DEFAULT 'grey'"
	files := fstest.MapFS{fmt.Sprintf("migrations/%04d_further.sql", known.Latest()+1): {Data: []byte(script)}}
	for version := 1; version <= known.Latest(); version++ {
		files[fmt.Sprintf("migrations/%04d_of_today.sql", version)] = &fstest.MapFile{Data: []byte(known.Script(version))}
	}
	must(t, administer(t.Context(), url, func(c *pgx.Conn) error {
		applied, err := migrate(t.Context(), c, store.LoadMigrations(files), time.Now)
		if err == nil && (len(applied) != 1 || applied[0].Name != "further") {
			t.Errorf("migrate of a later version = %+v, want one migration", applied)
		}
		return err
	}))
}

// TestUpgradeRolls: when a later version has migrated the database, nodes of
// this one go on, and can be restarted.
func TestUpgradeRolls(t *testing.T) {
	t.Parallel()
	url := newDatabase(t)
	before := node(t, url, Options{})
	workspace, pet := newStocked(t, before, 3)
	migrateFurther(t, url, fmt.Sprintf("-- beside: %d\n", known.Latest()))
	after := node(t, url, Options{})
	for _, db := range []*DB{before, after} {
		s := petstore.NewService(db)
		if _, err := s.CreatePet(t.Context(), workspace, petstore.NewPet{Name: "Tom", CategoryID: 1}, nil); err != nil {
			t.Errorf("CreatePet = %v", err)
		}
		if _, err := s.CreateOrder(t.Context(), workspace, petstore.NewOrder{PetID: pet, Quantity: 1}, nil); err != nil {
			t.Errorf("CreateOrder = %v", err)
		}
		wantSound(t, db)
	}
	if applied, err := MigrateUp(t.Context(), url, nil); err != nil || len(applied) > 0 {
		t.Errorf("MigrateUp = %v, %v, want nothing to do", applied, err)
	}
	known, err := MigrateStatus(t.Context(), url)
	if err != nil || !known[len(known)-1].Applied {
		t.Errorf("MigrateStatus = %v, %v, want all applied", known, err)
	}
}

// refusals returns what is said of a database to those who open it, look at it and migrate it.
func refusals(t *testing.T, url string) []error {
	t.Helper()
	_, err1 := Open(t.Context(), url, Options{})
	_, err2 := MigrateStatus(t.Context(), url)
	_, err3 := MigrateUp(t.Context(), url, nil)
	return []error{err1, err2, err3}
}

func TestNewerSchemaIsRefused(t *testing.T) {
	t.Parallel()
	next := known.Latest() + 1
	for name, beside := range map[string]string{"which needs more": fmt.Sprintf("-- beside: %d\n", next), "which says nothing": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := newDatabase(t)
			migrateFurther(t, url, beside)
			for _, err := range refusals(t, url) {
				if err == nil || !strings.Contains(err.Error(), "was made by a newer version of petstore (schema "+fmt.Sprint(next)+"; this one knows 1 to ") {
					t.Errorf("error = %v, want that the schema is newer", err)
				}
			}
		})
	}
}

// TestMigrationsSayWhoMayGoOn: each migration decides whether an upgrade over it
// can roll.
func TestMigrationsSayWhoMayGoOn(t *testing.T) {
	t.Parallel()
	for version := 1; version <= known.Latest(); version++ {
		script := known.Script(version)
		if !regexp.MustCompile(`^-- beside: [1-9][0-9]*\n`).MatchString(script) {
			t.Errorf("migration %d begins with %.30q, want -- beside: and the number of migrations that a program must know to go on beside this one", version, script)
		}
	}
}

// TestOlderDatabaseIsRefused: the tables of before the first release are left alone.
func TestOlderDatabaseIsRefused(t *testing.T) {
	t.Parallel()
	url := emptyDatabase(t)
	execute(t, url, `CREATE SCHEMA petstore;
		CREATE TABLE petstore.migrations (version integer PRIMARY KEY, name text NOT NULL, at bigint NOT NULL, beside integer);
		INSERT INTO petstore.migrations (version, name, at, beside) VALUES (1, 'init', 0, NULL), (2, 'usage', 0, NULL), (3, 'beside', 0, 2)`)
	for _, err := range refusals(t, url) {
		if err == nil || !strings.Contains(err.Error(), "from before the first release") || !strings.Contains(err.Error(), "export each workspace with the old version") {
			t.Errorf("error = %v, want that the database is of before, and what to do", err)
		}
	}
}
