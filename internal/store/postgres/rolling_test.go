package postgres

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store"
)

// migrateFurther migrates a database as a later version would, with one more migration.
func migrateFurther(t *testing.T, url string) {
	t.Helper()
	script := "ALTER TABLE pets ADD COLUMN colour text NOT NULL DEFAULT 'grey'"
	files := fstest.MapFS{fmt.Sprintf("migrations/%04d_further.sql", known.Latest()+1): {Data: []byte(script)}}
	for _, m := range known.All() {
		files[fmt.Sprintf("migrations/%04d_%s.sql", m.Version, m.Name)] = &fstest.MapFile{} // which is applied already
	}
	must(t, administer(t.Context(), url, func(c migrated) error {
		applied, err := store.LoadMigrations(files).Up(c, time.Now)
		if err == nil && (len(applied) != 1 || applied[0].Name != "further") {
			t.Errorf("Up of a later version = %+v, want one migration", applied)
		}
		return err
	}))
}

// refusals returns what is said of a database to those who open it, look at it and migrate it.
func refusals(t *testing.T, url string) []error {
	t.Helper()
	_, err1 := Open(t.Context(), url, Options{})
	_, err2 := MigrateStatus(t.Context(), url)
	_, err3 := MigrateUp(t.Context(), url, nil)
	return []error{err1, err2, err3}
}

// TestNewerSchemaIsRefused: when a later version has migrated the database, nodes of this
// one go on, and cannot be started.
func TestNewerSchemaIsRefused(t *testing.T) {
	t.Parallel()
	url := newDatabase(t)
	before := node(t, url, Options{})
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
	next := known.Latest() + 1
	for _, err := range refusals(t, url) {
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
		INSERT INTO petstore.migrations (version, name, at) VALUES (1, 'shop', 0), (2, 'photos', 0)`)
	for _, err := range refusals(t, url) {
		if err == nil || !strings.Contains(err.Error(), "from before the first release") || !strings.Contains(err.Error(), "export each workspace with that version") {
			t.Errorf("error = %v, want that the database is of before, and what to do", err)
		}
	}
}
