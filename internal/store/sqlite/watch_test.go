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
	must(t, err)
	newShop(t, db, 3)
	for _, end := range []string{"", "-wal", "-shm"} {
		must(t, os.Remove(path+end))
	}
	if _, err := db.CreateWorkspace(t.Context(), access.Workspace{Name: "other", Plan: access.Free, Quota: access.FreeQuota}, "cli"); err == nil {
		t.Error("a write is acknowledged although the file is gone")
	}
	must(t, os.Remove(path+"-lock"))
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
