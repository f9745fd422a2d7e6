package sqlite_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/store/sqlite"
)

// TestRemovedOneByOne: what removes the files comes to the one of the lock when the
// server has noticed already, and noted it there.
func TestRemovedOneByOne(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "petstore.db")
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{Serve: true})
	if err != nil {
		t.Fatal(err)
	}
	newShop(t, db, 3)
	for _, end := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(path + end); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := db.CreateWorkspace(t.Context(), access.Workspace{Name: "other", Plan: access.Free, Quota: access.FreeQuota}, "cli"); err == nil {
		t.Error("a write is acknowledged although the file is gone")
	}
	if err := os.Remove(path + "-lock"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Errorf("Close = %v, want nil", err)
	}
	if db, err := sqlite.Open(t.Context(), path, sqlite.Options{Serve: true}); err == nil || !strings.Contains(err.Error(), "the file is missing, but the process") {
		t.Errorf("the next Open = %v, want it refused because the file is missing", err)
		if err == nil {
			_ = db.Close()
		}
	}
}
