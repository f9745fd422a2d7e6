package sqlite

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"zombiezen.com/go/sqlite"
)

// TestACrashFindsWhatWasCommitted writes transactions that are larger than the
// cache, so that their frames are written early, read back, written anew and
// given up, beside another process that writes in SQLite's own way; after each of
// them a copy of the files, as a crash would leave them, is opened.
func TestACrashFindsWhatWasCommitted(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // to be repeated
			path, c := newPaged(t)
			other, err := openConn(path, false)
			must(t, err)
			defer other.Close()
			rows := map[int64]int64{}
			for range 12 {
				rows = changePages(t, c, random, rows)
				if random.IntN(2) == 0 {
					rows = changePages(t, other, random, rows)
				}
				wantPages(t, crashed(t, path), rows)
			}
		})
	}
}

// newPaged returns a connection of the writer's kind whose cache holds few pages,
// and the file.
func newPaged(t *testing.T) (path string, c *conn) {
	t.Helper()
	path, err := prepareFile(filepath.Join(t.TempDir(), "petstore.db"), Options{})
	if err == nil {
		c, err = openWriter(path)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, query := range []string{
		"PRAGMA journal_mode=WAL", "PRAGMA wal_autocheckpoint=0", "PRAGMA cache_size=10",
		"CREATE TABLE pages (id INTEGER PRIMARY KEY, value INTEGER NOT NULL, rest BLOB NOT NULL)",
	} {
		must(t, c.exec(query))
	}
	return path, c
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// changePages carries out a transaction of changes to a row a page, and returns
// the rows that there are afterwards.
func changePages(t *testing.T, c *conn, random *rand.Rand, before map[int64]int64) map[int64]int64 {
	t.Helper()
	after := maps.Clone(before)
	must(t, c.exec("BEGIN IMMEDIATE"))
	for range 1 + random.IntN(150) {
		id, value := random.Int64N(60), random.Int64()
		must(t, c.exec("INSERT OR REPLACE INTO pages (id, value, rest) VALUES (?, ?, zeroblob(3000))", id, value))
		after[id] = value
		if random.IntN(10) == 0 {
			wantPages(t, c, after)
		}
	}
	if random.IntN(4) == 0 {
		must(t, c.exec("ROLLBACK"))
		return before
	}
	must(t, c.exec("COMMIT"))
	if random.IntN(3) == 0 {
		must(t, c.exec("PRAGMA wal_checkpoint(PASSIVE)"))
	}
	return after
}

// crashed opens a copy of the file and its log, which SQLite then recovers.
func crashed(t *testing.T, path string) *conn {
	t.Helper()
	copied := filepath.Join(t.TempDir(), "copy.db")
	for _, end := range []string{"", "-wal"} {
		data, err := os.ReadFile(path + end)
		if err == nil {
			err = os.WriteFile(copied+end, data, 0o600)
		}
		must(t, err)
	}
	c, err := openConn(copied, false)
	must(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func wantPages(t *testing.T, c *conn, want map[int64]int64) {
	t.Helper()
	got := map[int64]int64{}
	must(t, c.each("SELECT id, value FROM pages", func(row *sqlite.Stmt) { got[row.ColumnInt64(0)] = row.ColumnInt64(1) }))
	if !maps.Equal(got, want) {
		t.Fatalf("%d rows, want the %d of the last transaction", len(got), len(want))
	}
	if c.AutocommitEnabled() {
		must(t, c.each("PRAGMA integrity_check", func(row *sqlite.Stmt) {
			if text := row.ColumnText(0); text != "ok" {
				t.Fatal(text)
			}
		}))
	}
}

// TestNothingIsWrittenAfterTheLock: what a transaction that was given up has
// gathered does not overwrite what another process commits then.
func TestNothingIsWrittenAfterTheLock(t *testing.T) {
	t.Parallel()
	path, c := newPaged(t)
	want := map[int64]int64{}
	for id := range int64(200) {
		must(t, c.exec("INSERT INTO pages (id, value, rest) VALUES (?, 0, zeroblob(3000))", id))
		want[id] = 0
	}
	must(t, c.exec("PRAGMA wal_checkpoint(PASSIVE)"))
	other, err := openConn(path, false)
	must(t, err)
	defer other.Close()
	must(t, c.exec("BEGIN IMMEDIATE"))
	for id := range int64(40) {
		must(t, c.exec("INSERT INTO pages (id, value, rest) VALUES (?, 0, zeroblob(3000))", 200+id))
	}
	must(t, c.exec("ROLLBACK"))
	must(t, other.exec("UPDATE pages SET value=1 WHERE id>=100"))
	for id := int64(100); id < 200; id++ {
		want[id] = 1
	}
	wantPages(t, crashed(t, path), want)
	must(t, c.exec("UPDATE pages SET value=2 WHERE id=150"))
	want[150] = 2
	wantPages(t, other, want)
	wantPages(t, crashed(t, path), want)
}

// TestAnyNameOfAFile: what is special in a URI is not in a name.
func TestAnyNameOfAFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a b?vfs=c#d%41&é'.db")
	for range 2 {
		db, err := Open(t.Context(), path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*"))
	if err != nil || len(files) != 1 || files[0] != path {
		t.Errorf("files = %q, %v, want %q alone", files, err, path)
	}
}
