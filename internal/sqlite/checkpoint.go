package sqlite

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
)

// Lengths of the log, in frames of a page each. A long one is moved with less
// effort, as pages that change again are moved once; but until it has grown so
// long every commit takes longer, since the file grows with it.
const (
	leastLog = 1000        // is moved into the database file if commits are small
	longLog  = 8000        // is moved in any case
	shortLog = 256         // writes may wait while so much is moved
	mostLog  = 4 * longLog // came while the log was being moved: writes wait for the disk

	commitsOfLog = 100 // of the usual size: as many make it worth while
	mostPasses   = 8   // each leaves about half as much, which came meanwhile
)

// A checkpointer moves the frames of the log into the database file. SQLite by
// itself does so in the commit that makes the log long, and all writes wait for
// the disk. Here most of it is done beside the writes, gently and on a connection
// of its own, and they wait while the last few frames are moved: only when none
// is left the log begins anew (https://sqlite.org/wal.html, section 2.3).
//
// Frames stay in the log until the database file has them on the disk, so that a
// failure loses nothing.
type checkpointer struct {
	conn  *conn
	file  *databaseFile
	index *walIndex
	fail  func(error)
	log   *slog.Logger

	mu    sync.Mutex    // held during a checkpoint
	told  bool          // that one did not work
	wake  chan struct{} // starts one beside the writes
	busy  atomic.Bool   // one is due or under way there
	ended chan struct{}

	// The writer's.
	frames uint32 // length of the log
	usual  uint32 // frames of a commit, the larger ones of late
	next   uint32 // the length at which there may be something to do
	passes int    // checkpoints beside the writes since the log was shorter
	first  uint32 // length of the log at the first of these
}

// newCheckpointer returns one for the open database. Until its close, no commit of
// the writer moves frames.
func newCheckpointer(db *DB) (*checkpointer, error) {
	c, file, err := openMover(db.path)
	if err != nil {
		return nil, err
	}
	if err := db.writer.exec("PRAGMA wal_autocheckpoint=0"); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	p := &checkpointer{
		conn: c, file: file, index: db.index, fail: db.fail, log: db.log,
		wake: make(chan struct{}, 1), ended: make(chan struct{}),
	}
	go p.work()
	return p, nil
}

// committed is called by the writer after each of its commits.
func (p *checkpointer) committed() {
	if p == nil {
		return
	}
	frames, moved := p.index.log()
	if frames < p.frames { // it began anew
		p.frames, p.next, p.passes = 0, 0, 0
	}
	p.usual = max(frames-p.frames, p.usual-p.usual/8)
	p.frames = frames
	busy := p.busy.Load()
	few := p.passes >= mostPasses || p.passes > 0 && frames-moved <= shortLog
	switch {
	case frames < max(p.next, min(longLog, max(leastLog, commitsOfLog*p.usual))):
	case p.passes > 0 && frames >= p.first+mostLog, few && !busy:
		p.file.gentle.Store(false) // of one that is under way, too
		p.mu.Lock()
		p.busy.Store(false) // the one that is due is this
		p.move()
		p.mu.Unlock()
		p.next, p.passes = frames+leastLog, 0 // who reads in the log may keep it from beginning anew
	case !busy:
		if p.passes++; p.passes == 1 {
			p.first = frames
		}
		p.file.gentle.Store(true)
		p.busy.Store(true)
		p.wake <- struct{}{}
	}
}

func (p *checkpointer) work() {
	defer close(p.ended)
	for range p.wake {
		p.mu.Lock()
		if p.busy.Load() {
			p.move()
			p.busy.Store(false)
		}
		p.mu.Unlock()
	}
}

// move moves what no reader needs in the log. Another process that does so at the
// time is let go on; what else passes is told once, and tried again when the log is
// longer. p.mu is held.
func (p *checkpointer) move() {
	err := p.conn.exec("PRAGMA wal_checkpoint(PASSIVE)")
	switch {
	case gravityOf(err) == final:
		p.fail(fmt.Errorf("moving the log into the file: %w", err))
	case err != nil && !p.told:
		p.log.Warn("the log could not be moved into the file, and grows", "err", err)
	}
	p.told = err != nil
}

// close waits for a checkpoint under way. The writer has ended.
func (p *checkpointer) close() error {
	if p == nil {
		return nil
	}
	close(p.wake)
	<-p.ended
	return p.conn.Close()
}
