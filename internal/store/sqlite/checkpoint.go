package sqlite

import (
	"fmt"
	"sync"
	"time"
)

// restartWait is how long a restart of the log waits for others.
const restartWait = 20 * time.Millisecond

// A checkpointer moves the log into the database file while others write. SQLite itself
// does so in the commit that makes the log long, and all writes wait for the disk
// meanwhile. SQLite overwrites the log from its start only after a checkpoint has moved
// all frames (https://sqlite.org/wal.html, section 2.3), which never happens under
// steady load: so the writer moves the rest when the log is long.
type checkpointer struct {
	conn *conn
	busy sync.Mutex // of the connection

	// These are used by the writer alone, and count frames of a page each.
	short int64 // frames since the last checkpoint that start the next one
	long  int64 // the length of the log at which the writer itself moves the rest
	last  int64 // the length of the log at the last checkpoint
}

// openCheckpointer opens the connection for checkpoints, and keeps the writer's commits
// from making any. The log has at most 48 MiB then.
func (db *DB) openCheckpointer() (err error) {
	db.checkpointer.short, db.checkpointer.long = 1000, 12000
	if db.checkpointer.conn, err = db.open(); err != nil {
		return err
	}
	return db.writer.exec("PRAGMA wal_autocheckpoint=0")
}

// logGrew starts or makes a checkpoint if one is due. The writer calls it after each
// commit.
func (db *DB) logGrew() {
	p := &db.checkpointer
	frames, _, err := db.writer.checkpoint("NOOP")
	if err != nil {
		return // the next commit will report the error
	}
	if frames < p.last { // the log was overwritten from its start
		p.last = 0
	}
	if frames < p.last+p.short {
		return
	}
	p.last = frames // a reader may keep SQLite from overwriting the log
	switch {
	case frames >= p.long:
		db.restartLog()
	case p.busy.TryLock():
		db.running.Go(func() {
			defer p.busy.Unlock()
			db.move(p.conn, "PASSIVE")
		})
	}
}

// checkpoint makes a checkpoint in a mode, and returns how many frames the log has. busy
// reports that others kept it from doing all that the mode asks for.
func (c *conn) checkpoint(mode string) (frames int64, busy bool, err error) {
	err = c.first("PRAGMA wal_checkpoint("+mode+")", &busy, &frames)
	return frames, busy, err
}

// move moves the frames that no reader needs from the log into the file. It does nothing
// while another process does so.
func (db *DB) move(c *conn, mode string) (busy bool) {
	_, busy, err := c.checkpoint(mode)
	switch {
	case severityOf(err) == fatal:
		db.fail(fmt.Errorf("moving the log into the file: %w", err))
	case err != nil:
		db.log.Warn("the log could not be moved into the file, and grows", "err", err)
	}
	return busy
}

// restartLog moves the rest of the log, however much it is, while writers of all
// processes wait: otherwise one process would always add to the log while the other
// moves it. It gives up while somebody reads what only the log has.
func (db *DB) restartLog() {
	db.writer.SetBusyTimeout(0) // SQLite retries too rarely, and not at all during another process's checkpoint
	defer db.writer.SetBusyTimeout(busyTimeout)
	for begun := time.Now(); db.move(db.writer, "RESTART") && time.Since(begun) < restartWait; {
		time.Sleep(askEvery)
	}
}
