package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// How often is looked at the files and for commits of other processes, and how often a
// server tries to write after a write failed.
const (
	noticeEvery = 200 * time.Millisecond
	tryEvery    = time.Second
)

// untilRemoved is how long somebody who removes the files one by one may take for all
// of them.
const untilRemoved = time.Second

// claim locks the database at path if o is a server's, and returns an error if its
// log is not its own.
func (o Options) claim(ctx context.Context, path string) (*fileLock, error) {
	if !o.Serve {
		return nil, refuseForeignLog(path)
	}
	return lockDatabase(ctx, path, o.Wait, func(process string) {
		o.Log.Info("waiting for the server that has the database", "path", path, "process", process)
	})
}

// watch takes note of the files that were opened.
func (db *DB) watch() (err error) {
	w := &db.watcher
	if w.lock == nil {
		w.files, err = newFileWatch(db.path)
		return err
	}
	if err := touchFile(db.writer); err != nil {
		return err
	}
	if _, _, _, err := db.writer.checkpoint("PASSIVE"); err != nil { // the watch looks at the file
		return err
	}
	w.files, err = w.lock.watch()
	return err
}

// watchFiles notices, while nobody writes, what other processes commit, and for a server
// also what happens to the files, and when writes that failed would succeed again. It runs
// until the watcher is closed or the database fails.
func (db *DB) watchFiles() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	look, try := time.NewTicker(noticeEvery), time.NewTicker(tryEvery)
	defer look.Stop()
	defer try.Stop()
	for {
		select {
		case <-db.watcher.stop:
			return
		case <-look.C:
			if db.look(); db.fault.err() != nil {
				return
			}
		case <-try.C:
			if db.watcher.lock != nil && db.watcher.err() != nil {
				db.watcher.running.Go(func() { _ = db.change(ctx, touchFile) }) // which notes the outcome
			}
		}
	}
}

func (db *DB) look() {
	if db.watcher.lock != nil {
		db.intact()
	}
	select {
	case db.writing <- struct{}{}:
		_ = db.notice() // what fails here fails the next write, which tells it
		db.writing.Unlock()
	default: // who writes notices by himself
	}
}

// intact looks whether the file is still the one that was opened, and fails the database
// if not. It may be called concurrently.
func (db *DB) intact() bool {
	w := &db.watcher
	if w.files == nil {
		return true
	}
	err := w.files.Check()
	if err != nil {
		db.lose(err)
	}
	return err == nil
}

// touchFile writes the first page as it is. The file's change counter grows.
func touchFile(c *conn) error {
	version, err := c.number("PRAGMA user_version")
	if err != nil {
		return err
	}
	return c.exec(fmt.Sprintf("PRAGMA user_version=%d", version))
}

// lose fails the database because of what happened to its files.
func (db *DB) lose(err error) {
	db.fail(err)
	db.tellNext(err)
}

// tellNext notes what happened to the files for the next start.
func (db *DB) tellNext(err error) {
	if _, ok := errors.AsType[*lostError](err); !ok || db.watcher.lock == nil {
		return
	}
	if err := db.watcher.lock.lost(); err != nil {
		db.log.Error("the next start may not know what happened to the database", "err", err)
	}
}

// abandoned reports whether the database must be left as it is: to close it would
// move the log into a file that is not its own, or is gone, and remove it. The
// watcher is closed.
func (db *DB) abandoned() bool {
	lost, ok := errors.AsType[*lostError](db.fault.err())
	if !ok && db.watcher.files != nil { // SQLite may have met it before the watcher did
		if lost, ok = errors.AsType[*lostError](db.watcher.files.Check()); ok {
			db.log.Error("the database is left as it is", "err", lost)
		}
	}
	if !ok {
		return false
	}
	if !lost.Whole {
		time.Sleep(untilRemoved)
	}
	db.tellNext(lost) // even if it was told before: whoever removed the files may have removed that, too
	return !lost.Whole
}
