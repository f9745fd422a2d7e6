package sqlite

import (
	"fmt"
	"time"
)

// logLengths are of the log, in frames of a page each.
type logLengths struct {
	short int64 // frames more than at the last checkpoint start the next one
	long  int64 // the writer moves the rest, however much it is
	few   int64 // after a checkpoint: writes may wait while so much is moved
}

// usualLog has at most 48 MiB.
func usualLog() logLengths { return logLengths{short: 1000, long: 12000, few: 256} }

// restartWait is how long a restart of the log waits for others.
const restartWait = 20 * time.Millisecond

// A checkpointer moves the log into the database file beside the writes. SQLite by
// itself does so in the commit that makes the log long, and all writes wait for the
// disk. Only when nothing is left to move does the log begin anew
// (https://sqlite.org/wal.html, section 2.3), which under steady load never happens
// beside the writes: so the writer moves the rest when that is little, or the log long.
type checkpointer struct {
	conn *conn
	wake chan struct{} // starts a checkpoint beside the writes
	next int64         // the length of the log at which it is moved; the writer's
	logLengths
}

// openCheckpointer has the commits of the writer move no frames.
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

// logGrew is called by the writer after each of its commits.
func (db *DB) logGrew() {
	p := db.checkpointer
	frames, moved, _, err := db.writer.checkpoint("NOOP")
	if err != nil {
		return // what is wrong shows in the next commit
	}
	if frames < p.next-p.short { // the log began anew
		p.next = p.short
	}
	switch {
	case frames < p.next:
		return
	case frames >= p.long:
		db.restartLog()
	case frames-moved > p.few:
		select {
		case p.wake <- struct{}{}:
		default: // it is due
		}
		return
	default:
		if db.move(db.writer, "PASSIVE") {
			return // the one beside the writes is about to end
		}
	}
	p.next = frames + p.short // a reader may keep the log from beginning anew
}

// checkpoint carries out a checkpoint of a mode, and returns how many frames the log
// has, and how many of them the database file has. It is busy if others kept it from
// all that the mode asks for.
func (c *conn) checkpoint(mode string) (frames, moved int64, busy bool, err error) {
	err = c.first("PRAGMA wal_checkpoint("+mode+")", &busy, &frames, &moved)
	return frames, moved, busy, err
}

// move moves what no reader needs in the log. If another process does so at the time
// this one leaves it alone. A file that was copied over the database gets no page of it:
// its header could not be told from ours any more.
func (db *DB) move(c *conn, mode string) (busy bool) {
	if !db.intact() {
		return false
	}
	_, _, busy, err := c.checkpoint(mode)
	switch {
	case gravityOf(err) == final:
		db.fail(fmt.Errorf("moving the log into the file: %w", err))
	case err != nil:
		db.log.Warn("the log could not be moved into the file, and grows", "err", err)
	}
	return busy
}

// restartLog moves the rest, however much it is, and has the log begin anew: where two
// processes write, one always adds to it while the other moves it. For a moment both
// have to wait. It gives up while somebody reads what the log alone has.
func (db *DB) restartLog() {
	db.writer.SetBusyTimeout(0) // SQLite asks too rarely, and never again for another's checkpoint
	defer db.writer.SetBusyTimeout(busyTimeout)
	for begun := time.Now(); db.move(db.writer, "RESTART") && time.Since(begun) < restartWait; {
		time.Sleep(askEvery)
	}
}
