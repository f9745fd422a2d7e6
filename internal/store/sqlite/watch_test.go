package sqlite_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/store/sqlite"
)

// TestRemovedWhileServed: nothing is acknowledged that is in a file which was removed, and
// SQLite does not remove the log of another one at the end.
func TestRemovedWhileServed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "petstore.db")
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{Serve: true})
	must(t, err)
	newShop(t, db, 3)
	must(t, os.Remove(path))
	if _, err := db.CreateWorkspace(t.Context(), access.Workspace{Name: "other", Plan: access.Free, Quota: access.FreeQuota}, "cli"); err == nil {
		t.Error("a write is acknowledged although the file is gone")
	}
	if err := db.Close(); err != nil {
		t.Errorf("Close = %v, want nil", err)
	}
	if db, err := sqlite.Open(t.Context(), path, sqlite.Options{Serve: true}); err == nil || !strings.Contains(err.Error(), "the file is missing, but its log") {
		t.Errorf("the next Open = %v, want it refused because of the log", err)
		if err == nil {
			_ = db.Close()
		}
	}
}
