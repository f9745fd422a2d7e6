package faults

import (
	"path/filepath"
	"strings"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// TestLongWriter stays inside of a transaction: a command that waits says so.
func TestLongWriter(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, petstore.NewWorkspace(dir, "shop"))
	c, err := sqlite.OpenConn(filepath.Join(dir, "petstore.db"), sqlite.OpenReadWrite)
	must(t, err)
	defer c.Close()
	must(t, sqlitex.ExecuteTransient(c, "BEGIN IMMEDIATE", nil))
	_, err = petstore.Run(dir, "workspace", "create", "other", "--plan=free")
	if err == nil || !strings.Contains(err.Error(), "another process has been writing for 5s") {
		t.Errorf("a command beside a process that writes = %v, want that another one is writing", err)
	}
}
