package postgres_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/postgres"
	"github.com/jackc/pgx/v5"
)

// migrateFurther does to a database what the migration of a later version
// would, which needs programs that know so many migrations.
func migrateFurther(t *testing.T, url string, beside int) {
	t.Helper()
	execute(t, url, "ALTER TABLE petstore.pets ADD COLUMN colour text NOT NULL DEFAULT 'grey'")
	execute(t, url, "INSERT INTO petstore.migrations (version, name, at, beside) VALUES (99, 'future', 0, $1)", beside)
}

func knownMigrations(t *testing.T) int {
	t.Helper()
	known, err := postgres.MigrateStatus(t.Context(), emptyDatabase(t))
	if err != nil {
		t.Fatal(err)
	}
	return len(known)
}

// TestUpgradeRolls: when a later version has migrated the database, nodes of
// this one go on, and can be restarted.
func TestUpgradeRolls(t *testing.T) {
	t.Parallel()
	url := newDatabase(t)
	before := node(t, url, postgres.Options{})
	workspace, pet := newStocked(t, before, 3)
	migrateFurther(t, url, knownMigrations(t))
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
	for name, note := range map[string]func(t *testing.T, url string){
		"which needs more": func(t *testing.T, url string) { migrateFurther(t, url, knownMigrations(t)+1) },
		"which says nothing": func(t *testing.T, url string) {
			execute(t, url, "INSERT INTO petstore.migrations (version, name, at) VALUES (99, 'future', 0)")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := newDatabase(t)
			note(t, url)
			_, err1 := postgres.Open(t.Context(), url, postgres.Options{})
			_, err2 := postgres.MigrateStatus(t.Context(), url)
			_, err3 := postgres.MigrateUp(t.Context(), url, nil)
			for _, err := range []error{err1, err2, err3} {
				if err == nil || !strings.Contains(err.Error(), "was made by a newer version of petstore (schema 99; this one knows 1 to ") {
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
	for version, line := range postgres.Scripts() {
		if !regexp.MustCompile(`^-- beside: [1-9][0-9]*$`).MatchString(line) {
			t.Errorf("migration %d begins with %q, want -- beside: and the number of migrations that a program must know to go on beside this one", version, line)
		}
	}
}

// TestEmptiedTables: a workspace that is reset leaves no row in any table that has
// rows of workspaces.
func TestEmptiedTables(t *testing.T) {
	t.Parallel()
	rows, err := direct(t, newDatabase(t)).Query(t.Context(), `SELECT table_name::text FROM information_schema.columns
		WHERE table_schema = 'petstore' AND column_name = 'workspace'`)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(tables) < 8 {
		t.Fatalf("the tables are %q, %v", tables, err)
	}
	kept := []string{"api_keys", "counters", "feeds", "key_days", "limit_keys", "removals", "usage", "webhooks", // they are of the workspace
		"pet_names"} // a trigger empties it with pets
	for _, name := range tables {
		if !slices.Contains(kept, name) && !slices.Contains(postgres.EmptiedTables(), name) {
			t.Errorf("the table %s has rows of workspaces, and is not emptied with them", name)
		}
	}
}
