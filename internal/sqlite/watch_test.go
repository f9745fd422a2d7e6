package sqlite_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/petstore/internal/sqlite"
)

// TestOverwrittenBeforeClose: a file that was overwritten just before the server
// ends, sooner than the watcher looks, is left as it is. The next start refuses it
// by what is noted (dbfile.TestLost).
func TestOverwrittenBeforeClose(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "petstore.db")
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{Serve: true})
	if err != nil {
		t.Fatal(err)
	}
	newShop(t, db, 3)
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Errorf("Close = %v, want nil", err)
	}
	if info, err := os.Stat(path + "-wal"); err != nil || info.Size() == 0 {
		t.Errorf("the log is %v, %v; want it left as it was", info, err)
	}
	note, err := os.ReadFile(path + "-lock")
	if err != nil || !strings.Contains(string(note), `"overwritten":true`) {
		t.Errorf("for the next start it is noted: %s, %v; want overwritten", note, err)
	}
}
