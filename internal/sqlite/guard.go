package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"zombiezen.com/go/sqlite"
)

// How often a server looks at its files, and how often it tries to write after a
// write failed.
const (
	lookEvery = 200 * time.Millisecond
	tryEvery  = time.Second
)

// A guard watches what the database stands on.
type guard struct {
	unwritable atomic.Pointer[error] // why the last commit failed; nil if it did not
	stop       chan struct{}
	running    sync.WaitGroup
}

// note takes the outcome of a commit.
func (g *guard) note(err error) {
	switch {
	case err != nil:
		g.unwritable.Store(&err)
	case g.unwritable.Load() != nil:
		g.unwritable.Store(nil)
	}
}

func (g *guard) err() error {
	if p := g.unwritable.Load(); p != nil {
		return fmt.Errorf("nothing can be written: %w", *p)
	}
	return nil
}

func (g *guard) close() {
	close(g.stop)
	g.running.Wait()
}

// watchFiles notices what happens to the files while nobody writes, and when
// writes that failed would succeed again. It runs until the guard is closed or the
// files are lost.
func (db *DB) watchFiles() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	look, try := time.NewTicker(lookEvery), time.NewTicker(tryEvery)
	defer look.Stop()
	defer try.Stop()
	for {
		select {
		case <-db.guard.stop:
			return
		case <-look.C:
			if err := db.location.checkDeep(); err != nil {
				db.lose(err)
				return
			}
		case <-try.C:
			if db.guard.err() != nil {
				db.guard.running.Go(func() { _ = db.changeOf(ctx, named, touchFile) }) // commit notes it
			}
		}
	}
}

// touchFile writes the first page as it is. The file's change counter grows.
func touchFile(c *conn) error {
	c.touched.wrote = true
	version := 0
	if _, err := c.one(selectSchema, func(row *sqlite.Stmt) { version = row.ColumnInt(0) }); err != nil {
		return err
	}
	return c.exec(fmt.Sprintf("PRAGMA user_version=%d", version))
}

// lose fails the database because of what happened to its files.
func (db *DB) lose(err error) {
	db.fail(err)
	if db.lock == nil {
		return
	}
	if lost, ok := errors.AsType[*lostError](err); ok && lost.overwrote {
		t := readTrace(db.path)
		if t == nil {
			return
		}
		t.Overwritten = true
		if err := leaveTrace(db.lock, *t); err != nil {
			db.log.Error("the next start may not know that the database was overwritten", "err", err)
		}
		return
	}
	// If the trace went with the database, the next start must not begin with an
	// empty one.
	f, err := os.OpenFile(db.path+lockEnd, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return
	}
	if err == nil {
		err = errors.Join(leaveTrace(f, trace{Since: time.Now()}), f.Close())
	}
	if err != nil {
		db.log.Error("the next start may make an empty database", "err", err)
	}
}

// settle takes note of the files that were opened. A server writes its trace.
func (db *DB) settle(o Options) (err error) {
	if o.Serve {
		if err := touchFile(db.writer); err != nil {
			return err
		}
	}
	if db.location, err = newLocation(db.path, o.Serve); err != nil || !o.Serve {
		return err
	}
	log, err := readLogHeader(db.path + "-wal")
	if err != nil || log == nil {
		return errors.Join(err, errors.New("the log cannot be read"))
	}
	return leaveTrace(db.lock, trace{
		Since: time.Now(), File: db.location.last.inode,
		Log: log.lineage(), Resets: log.resets, Changes: db.location.last.changes + 1,
	})
}

// abandoned reports whether the database must be left as it is: to close it would
// move the log into a file that is not its own, or is gone, and remove it.
func (db *DB) abandoned() bool {
	lost, ok := errors.AsType[*lostError](db.fault.err())
	return ok && !lost.whole
}
