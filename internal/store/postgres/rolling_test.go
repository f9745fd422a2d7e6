package postgres_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store/postgres"
)

// migrateFurther migrates a database as a later version would, with one more migration,
// which says which programs may go on beside it.
func migrateFurther(t *testing.T, url, beside string) {
	t.Helper()
	applied, err := postgres.MigrateFurther(t.Context(), url, beside+"ALTER TABLE pets ADD COLUMN colour text NOT NULL DEFAULT 'grey'")
	if err != nil || len(applied) != 1 || applied[0].Name != "further" {
		t.Fatalf("MigrateUp of a later version = %+v, %v, want one migration", applied, err)
	}
}

// TestUpgradeRolls: when a later version has migrated the database, nodes of
// this one go on, and can be restarted.
func TestUpgradeRolls(t *testing.T) {
	t.Parallel()
	url := newDatabase(t)
	before := node(t, url, postgres.Options{})
	workspace, pet := newStocked(t, before, 3)
	migrateFurther(t, url, fmt.Sprintf("-- beside: %d\n", len(postgres.Scripts())))
	after := node(t, url, postgres.Options{})
	for _, db := range []*postgres.DB{before, after} {
		s := petstore.NewService(db)
		if _, err := s.CreatePet(t.Context(), workspace, petstore.NewPet{Name: "Tom", CategoryID: 1}, nil); err != nil {
			t.Errorf("CreatePet = %v", err)
		}
		if _, err := s.CreateOrder(t.Context(), workspace, petstore.NewOrder{PetID: pet, Quantity: 1}, nil); err != nil {
			t.Errorf("CreateOrder = %v", err)
		}
		wantSound(t, db)
	}
	if applied, err := postgres.MigrateUp(t.Context(), url, nil); err != nil || len(applied) > 0 {
		t.Errorf("MigrateUp = %v, %v, want nothing to do", applied, err)
	}
	known, err := postgres.MigrateStatus(t.Context(), url)
	if err != nil || !known[len(known)-1].Applied {
		t.Errorf("MigrateStatus = %v, %v, want all applied", known, err)
	}
}

func TestNewerSchemaIsRefused(t *testing.T) {
	t.Parallel()
	next := len(postgres.Scripts()) + 1
	for name, beside := range map[string]string{"which needs more": fmt.Sprintf("-- beside: %d\n", next), "which says nothing": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := newDatabase(t)
			migrateFurther(t, url, beside)
			_, err1 := postgres.Open(t.Context(), url, postgres.Options{})
			_, err2 := postgres.MigrateStatus(t.Context(), url)
			_, err3 := postgres.MigrateUp(t.Context(), url, nil)
			for _, err := range []error{err1, err2, err3} {
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
	for version, script := range postgres.Scripts() {
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
	_, err1 := postgres.Open(t.Context(), url, postgres.Options{})
	_, err2 := postgres.MigrateStatus(t.Context(), url)
	_, err3 := postgres.MigrateUp(t.Context(), url, nil)
	for _, err := range []error{err1, err2, err3} {
		if err == nil || !strings.Contains(err.Error(), "from before the first release") || !strings.Contains(err.Error(), "export each workspace with the old version") {
			t.Errorf("error = %v, want that the database is of before, and what to do", err)
		}
	}
}
