package sqlite

import (
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"
)

// Lengths of the log, in frames of a page each.
const (
	shortLog = 1000  // frames more than at the last checkpoint start the next one
	longLog  = 12000 // 48 MiB: the writer moves the rest, however much it is
	fewLeft  = 256   // after a checkpoint: writes may wait while so much is moved
)

// restartWait is how long a restart of the log waits for others.
const restartWait = 20 * time.Millisecond

// A checkpointer moves the log into the database file beside the writes. SQLite by
// itself does so in the commit that makes the log long, and all writes wait for the
// disk. Only when nothing is left to move does the log begin anew
// (https://sqlite.org/wal.html, section 2.3), which under steady load never happens
// beside the writes: so the writer moves the rest when that is little, or the log long.
type checkpointer struct {
	conn  *conn
	fail  func(error)
	whole func() bool // the file is still the one that was opened
	log   *slog.Logger
	wake  chan struct{} // starts a checkpoint beside the writes
	busy  atomic.Bool   // one is due or under way there
	ended chan struct{}

	// The writer's.
	frames int64 // length of the log
	next   int64 // the length that starts a checkpoint
	again  bool  // one was started beside the writes, and may have left little
}

// newCheckpointer returns one for the open database. Until its close, no commit of
// the writer moves frames.
func newCheckpointer(path string, writer *conn, fail func(error), whole func() bool, log *slog.Logger) (*checkpointer, error) {
	c, err := openConn(path, false)
	if err != nil {
		return nil, err
	}
	if err := writer.exec("PRAGMA wal_autocheckpoint=0"); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	p := &checkpointer{conn: c, fail: fail, whole: whole, log: log, wake: make(chan struct{}, 1), ended: make(chan struct{}), next: shortLog}
	go func() {
		defer close(p.ended)
		for range p.wake {
			p.move(p.conn, "PASSIVE")
			p.busy.Store(false)
		}
	}()
	return p, nil
}

// committed is called by the writer after each of its commits.
func (p *checkpointer) committed(writer *conn) {
	if p == nil {
		return
	}
	frames, moved, _, err := writer.checkpoint("NOOP")
	if err != nil {
		return // what is wrong shows in the next commit
	}
	if frames < p.frames { // the log began anew
		p.next, p.again = shortLog, false
	}
	p.frames = frames
	due := frames >= p.next
	switch {
	case p.busy.Load():
		return
	case p.again && frames-moved <= fewLeft:
		p.again = false
		p.move(writer, "PASSIVE")
	case due && frames >= longLog:
		p.again = false
		p.restart(writer)
	case due:
		p.again = true
		p.busy.Store(true)
		p.wake <- struct{}{}
	default:
		return
	}
	p.next = frames + shortLog // a reader may keep the log from beginning anew
}

// checkpoint carries out a checkpoint of a mode, and returns how many frames the log
// has, and how many of them the database file has. It is busy if others kept it from
// all that the mode asks for.
func (c *conn) checkpoint(mode string) (frames, moved int64, busy bool, err error) {
	for row, err := range c.query("PRAGMA wal_checkpoint(" + mode + ")") {
		if err != nil {
			return 0, 0, false, err
		}
		busy, frames, moved = row.ColumnBool(0), row.ColumnInt64(1), row.ColumnInt64(2)
	}
	return frames, moved, busy, nil
}

// move moves what no reader needs in the log. If another process does so at the time
// this one leaves it alone. A file that was copied over the database gets no page of it:
// its header could not be told from ours any more.
func (p *checkpointer) move(c *conn, mode string) (busy bool) {
	if !p.whole() {
		return false
	}
	_, _, busy, err := c.checkpoint(mode)
	switch {
	case gravityOf(err) == final:
		p.fail(fmt.Errorf("moving the log into the file: %w", err))
	case err != nil:
		p.log.Warn("the log could not be moved into the file, and grows", "err", err)
	}
	return busy
}

// restart moves the rest, however much it is, and has the log begin anew: where two
// processes write, one always adds to it while the other moves it. For a moment both
// have to wait. It gives up while somebody reads what the log alone has.
func (p *checkpointer) restart(c *conn) {
	c.SetBusyTimeout(0) // SQLite asks too rarely, and never again for another's checkpoint
	defer c.SetBusyTimeout(busyTimeout)
	for begun := time.Now(); p.move(c, "RESTART") && time.Since(begun) < restartWait; {
		time.Sleep(askEvery)
	}
}

// stop waits for a checkpoint under way, and leaves the connection open. The writer
// has ended.
func (p *checkpointer) stop() {
	if p != nil {
		close(p.wake)
		<-p.ended
	}
}

func (p *checkpointer) close() error {
	if p == nil {
		return nil
	}
	return p.conn.Close()
}
