package postgres_test

import (
	"fmt"
	"strings"
	"testing"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store/postgres"
)

// migrateFurther migrates a database as a later version would, with one more migration.
func migrateFurther(t *testing.T, url string) {
	t.Helper()
	applied, err := postgres.MigrateFurther(t.Context(), url, "ALTER TABLE pets ADD COLUMN colour text NOT NULL DEFAULT 'grey'")
	if err != nil || len(applied) != 1 || applied[0].Name != "further" {
		t.Fatalf("MigrateUp of a later version = %+v, %v, want one migration", applied, err)
	}
}

// TestNewerSchemaIsRefused: when a later version has migrated the database, nodes of this
// one go on, and cannot be started.
func TestNewerSchemaIsRefused(t *testing.T) {
	t.Parallel()
	url := newDatabase(t)
	before := node(t, url, postgres.Options{})
	workspace, pet := newStocked(t, before, 3)
	migrateFurther(t, url)
	s := petstore.NewService(before)
	if _, err := s.CreatePet(t.Context(), workspace, petstore.NewPet{Name: "Tom", CategoryID: 1}, nil); err != nil {
		t.Errorf("CreatePet = %v", err)
	}
	if _, err := s.CreateOrder(t.Context(), workspace, petstore.NewOrder{PetID: pet, Quantity: 1}, nil); err != nil {
		t.Errorf("CreateOrder = %v", err)
	}
	wantSound(t, before)
	next := len(postgres.Scripts()) + 1
	_, err1 := postgres.Open(t.Context(), url, postgres.Options{})
	_, err2 := postgres.MigrateStatus(t.Context(), url)
	_, err3 := postgres.MigrateUp(t.Context(), url, nil)
	for _, err := range []error{err1, err2, err3} {
		if err == nil || !strings.Contains(err.Error(), "was made by a newer version of petstore (schema "+fmt.Sprint(next)+"; this one knows 1 to ") {
			t.Errorf("error = %v, want that the schema is newer", err)
		}
	}
}

// TestOlderDatabaseIsRefused: the tables of before the first release are left alone.
func TestOlderDatabaseIsRefused(t *testing.T) {
	t.Parallel()
	url := emptyDatabase(t)
	execute(t, url, `CREATE SCHEMA petstore;
		CREATE TABLE petstore.migrations (version integer PRIMARY KEY, name text NOT NULL, at bigint NOT NULL);
		INSERT INTO petstore.migrations (version, name, at) VALUES (1, 'init', 0), (2, 'usage', 0)`)
	_, err1 := postgres.Open(t.Context(), url, postgres.Options{})
	_, err2 := postgres.MigrateStatus(t.Context(), url)
	_, err3 := postgres.MigrateUp(t.Context(), url, nil)
	for _, err := range []error{err1, err2, err3} {
		if err == nil || !strings.Contains(err.Error(), "from before the first release") || !strings.Contains(err.Error(), "export each workspace with the old version") {
			t.Errorf("error = %v, want that the database is of before, and what to do", err)
		}
	}
}
