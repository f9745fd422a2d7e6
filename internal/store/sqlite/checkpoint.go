package sqlite

import (
	"fmt"
	"time"
)

// logLengths are of the log, in frames of a page each.
type logLengths struct {
	short int64 // frames since the last checkpoint that start the next one
	long  int64 // the writer itself moves the rest
}

// usualLog has at most 48 MiB.
func usualLog() logLengths { return logLengths{short: 1000, long: 12000} }

// restartWait is how long a restart of the log waits for others.
const restartWait = 20 * time.Millisecond

// A checkpointer moves the log into the database file while others write. SQLite itself
// does so in the commit that makes the log long, and all writes wait for the disk
// meanwhile. SQLite overwrites the log from its start only after a checkpoint has moved
// all frames (https://sqlite.org/wal.html, section 2.3), which never happens under
// steady load: so the writer moves the rest when the log is long.
type checkpointer struct {
	conn *conn
	wake chan struct{} // starts a checkpoint beside the writes
	next int64         // the length of the log at which to move it; used by the writer alone
	logLengths
}

// openCheckpointer opens the connection for checkpoints, and keeps the writer's commits
// from making any.
func (db *DB) openCheckpointer() error {
	c, err := db.open()
	if err != nil {
		return err
	}
	db.checkpointer = &checkpointer{conn: c, wake: make(chan struct{}, 1), logLengths: usualLog()}
	db.checkpointer.next = db.checkpointer.short
	return db.writer.exec("PRAGMA wal_autocheckpoint=0")
}

// moveLog runs until db is closed.
func (db *DB) moveLog() {
	for {
		select {
		case <-db.checkpointer.wake:
			db.move(db.checkpointer.conn, "PASSIVE")
		case <-db.stop:
			return
		}
	}
}

// logGrew starts or makes a checkpoint if one is due. The writer calls it after each
// commit.
func (db *DB) logGrew() {
	p := db.checkpointer
	frames, _, err := db.writer.checkpoint("NOOP")
	if err != nil {
		return // the next commit will report the error
	}
	if frames < p.next-p.short { // the log was overwritten from its start
		p.next = p.short
	}
	if frames < p.next {
		return
	}
	p.next = frames + p.short // a reader may keep SQLite from overwriting the log
	if frames >= p.long {
		db.restartLog()
		return
	}
	select {
	case p.wake <- struct{}{}:
	default: // it was woken already
	}
}

// checkpoint makes a checkpoint in a mode, and returns how many frames the log has. busy
// reports that others kept it from doing all that the mode asks for.
func (c *conn) checkpoint(mode string) (frames int64, busy bool, err error) {
	err = c.first("PRAGMA wal_checkpoint("+mode+")", &busy, &frames)
	return frames, busy, err
}

// move moves the frames that no reader needs from the log into the file. It does nothing
// while another process does so. It writes nothing to a file that was put in the place
// of the database, since the changed header would hide that.
func (db *DB) move(c *conn, mode string) (busy bool) {
	if !db.intact() {
		return false
	}
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
