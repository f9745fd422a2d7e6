package sqlite

import (
	"flag"
	"path/filepath"
	"testing"

	"example.com/petstore/internal/processtest"
	"go.uber.org/goleak"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
)

// TestMain fails if a test leaves a goroutine behind.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "50"); err != nil { // of which each compares pages of five lists
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// openTest opens a new database until the test ends.
func openTest(t testing.TB, o Options) *DB {
	t.Helper()
	return openAt(t, filepath.Join(t.TempDir(), "petstore.db"), o)
}

// openAt opens the database in the file path until the test ends.
func openAt(t testing.TB, path string, o Options) *DB {
	t.Helper()
	db, err := Open(t.Context(), path, o)
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	return db
}

func newWorkspace(t testing.TB, db *DB, name string) int64 {
	t.Helper()
	w, err := db.CreateWorkspace(t.Context(), access.Workspace{Name: name, Plan: access.Free, Quota: access.FreeQuota}, "test")
	must(t, err)
	return w.ID
}

// newShop makes a workspace with one category, which has the id 1.
func newShop(t *testing.T, db *DB, name string) int64 {
	t.Helper()
	workspace := newWorkspace(t, db, name)
	_, err := petstore.NewService(db).CreateCategory(t.Context(), workspace, petstore.NewCategory{Name: "Dogs"}, nil)
	must(t, err)
	return workspace
}

func createPet(t *testing.T, db *DB, workspace int64, name string) int64 {
	t.Helper()
	c, err := petstore.NewService(db).CreatePet(t.Context(), workspace, petstore.NewPet{Name: name, CategoryID: 1}, nil)
	must(t, err)
	return c.ID
}

// must ends the test if err is not nil.
var must = processtest.Must
