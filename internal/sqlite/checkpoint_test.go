package sqlite

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"zombiezen.com/go/sqlite"
)

// framesEach is how many frames one call of writeFrames adds, at least.
const framesEach = 400

// writeFrames commits a row of that many pages under a name.
func writeFrames(t *testing.T, db *DB, name string) {
	t.Helper()
	err := db.change(t.Context(), func(c *conn) error {
		return c.exec("INSERT OR REPLACE INTO meta (name, value) VALUES (?, zeroblob(?))", name, framesEach*4096)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// longest returns how long the log was at most while so many frames were written.
func longest(t *testing.T, db *DB, frames int) (most uint32) {
	t.Helper()
	for i := range frames / framesEach {
		writeFrames(t, db, fmt.Sprint("frames ", i%10))
		now, _ := db.index.log()
		most = max(most, now)
	}
	return most
}

func TestTheLogBeginsAnew(t *testing.T) {
	db := openTest(t, Options{})
	const bound = longLog + mostLog + 2*framesEach // on the slowest of disks
	if most := longest(t, db, bound+longLog); most < longLog || most > bound {
		t.Errorf("the log had up to %d frames, want %d to %d", most, longLog, bound)
	}
	if err := db.Err(); err != nil {
		t.Error(err)
	}
}

func TestAReaderKeepsTheLogForAWhile(t *testing.T) {
	db := openTest(t, Options{})
	reader, err := db.reader(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := reader.exec("BEGIN"); err != nil {
		t.Fatal(err)
	}
	before := countMeta(t, reader)
	if most := longest(t, db, mostLog); most < mostLog {
		t.Errorf("the log had up to %d frames, want all of %d: somebody reads it", most, mostLog)
	}
	if now := countMeta(t, reader); now != before {
		t.Errorf("the reader sees %d rows, want the %d of its snapshot", now, before)
	}
	if err := reader.exec("COMMIT"); err != nil {
		t.Fatal(err)
	}
	db.release(reader)

	left, _ := db.index.log()
	for i := range (leastLog+mostLog)/framesEach + 2 { // sooner, if the disk is not slow
		writeFrames(t, db, fmt.Sprint("later ", i%10))
		if now, _ := db.index.log(); now < left {
			return
		}
	}
	now, _ := db.index.log()
	t.Errorf("the log has %d frames, %d when the reader left: it did not begin anew", now, left)
}

func countMeta(t *testing.T, c *conn) (n int64) {
	t.Helper()
	if _, err := c.one("SELECT count(*) FROM meta", func(row *sqlite.Stmt) { n = row.ColumnInt64(0) }); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestACommitMovesNoFrames(t *testing.T) {
	db := openTest(t, Options{})
	longest(t, db, longLog/2) // twice as many as SQLite waits for
	if frames, moved := db.index.log(); frames < longLog/2 || moved != 0 {
		t.Errorf("of %d frames %d were moved, want none", frames, moved)
	}
}

func TestTheLogStaysShortWhileLittleIsWritten(t *testing.T) {
	db := openTest(t, Options{})
	most := uint32(0)
	for i := range 4 * leastLog {
		err := db.change(t.Context(), func(c *conn) error {
			return c.exec("INSERT OR REPLACE INTO meta (name, value) VALUES ('count', ?)", []byte(fmt.Sprint(i)))
		})
		if err != nil {
			t.Fatal(err)
		}
		now, _ := db.index.log()
		most = max(most, now)
	}
	if most < leastLog || most >= 4*leastLog {
		t.Errorf("the log had up to %d frames, want %d, and little more on a fast disk", most, leastLog)
	}
}

func TestADatabaseBehindALink(t *testing.T) {
	dir := t.TempDir()
	first := openAt(t, filepath.Join(dir, "real.db"))
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real.db", filepath.Join(dir, "link.db")); err != nil {
		t.Skip(err)
	}
	db := openAt(t, filepath.Join(dir, "link.db"))
	if db.keeper == nil || db.cache == nil {
		t.Errorf("checkpoints beside the writes: %t, animals in memory: %t; want both", db.keeper != nil, db.cache != nil)
	}
}

func openAt(t *testing.T, path string) *DB {
	t.Helper()
	db, err := Open(t.Context(), path, Options{Cached: 64})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}
