package sqlite

import (
	"errors"
	"fmt"
	"testing"
)

// The lengths of the log in these tests are a quarter of the usual ones.
const (
	shortLog, longLog = 250, 3000
	farLog            = 2 * longLog // longer than the log becomes on the slowest of disks
	framesEach        = 100         // so many frames one call of writeFrames adds, at least
)

// shorten has the log of a database begin anew sooner.
func shorten(db *DB) *DB {
	db.writing.Lock()
	defer db.writing.Unlock()
	db.checkpointer.short, db.checkpointer.long = shortLog, longLog
	return db
}

// writeFrames commits a row of that many pages under a name.
func writeFrames(t *testing.T, db *DB, name string) {
	t.Helper()
	err := db.change(t.Context(), func(c *conn) error {
		return c.exec("INSERT OR REPLACE INTO meta (name, value) VALUES (?, zeroblob(?))", name, framesEach*4096)
	})
	must(t, err)
}

// frames returns how many frames the log has.
func frames(t *testing.T, db *DB) (all int64) {
	t.Helper()
	err := db.read(t.Context(), func(c *conn) (err error) {
		all, _, err = c.checkpoint("NOOP")
		return err
	})
	must(t, err)
	return all
}

// longest returns how long the log was at most while so many frames were written.
func longest(t *testing.T, db *DB, n int) (most int64) {
	t.Helper()
	for i := range n / framesEach {
		writeFrames(t, db, fmt.Sprint("frames ", i%10))
		most = max(most, frames(t, db))
	}
	return most
}

// TestTheLogBeginsAnew has two write as fast as they can, as a
// server does beside a command that removes a large workspace.
func TestTheLogBeginsAnew(t *testing.T) {
	db := shorten(openTest(t, Options{}))
	other := shorten(openAt(t, db.path, Options{}))
	ended := make(chan int64)
	go func() { ended <- longest(t, other, 2*farLog) }()
	most := max(longest(t, db, 2*farLog), <-ended)
	if most < shortLog || most > farLog {
		t.Errorf("the log had up to %d frames, want %d to %d", most, shortLog, farLog)
	}
	if err := errors.Join(db.Err(), other.Err()); err != nil {
		t.Error(err)
	}
}

func TestAReaderKeepsTheLogForAWhile(t *testing.T) {
	db := shorten(openTest(t, Options{}))
	reader := <-db.readers
	must(t, reader.exec("BEGIN"))
	before := countMeta(t, reader)
	if most := longest(t, db, farLog); most < farLog {
		t.Errorf("the log had up to %d frames, want all of %d: somebody reads it", most, farLog)
	}
	if now := countMeta(t, reader); now != before {
		t.Errorf("the reader sees %d rows, want the %d of its snapshot", now, before)
	}
	must(t, reader.exec("COMMIT"))
	db.readers <- reader

	left := frames(t, db)
	for i := range farLog / framesEach { // sooner, if the disk is not slow
		writeFrames(t, db, fmt.Sprint("later ", i%10))
		if now := frames(t, db); now < left {
			return
		}
	}
	t.Errorf("the log has %d frames, %d when the reader left: it did not begin anew", frames(t, db), left)
}

func countMeta(t *testing.T, c *conn) int64 {
	t.Helper()
	n, err := c.number("SELECT count(*) FROM meta")
	must(t, err)
	return n
}
