package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// How often the files are checked and commits of other processes are looked for, and how
// often a server tries to write after a write failed.
const (
	noticeEvery = 200 * time.Millisecond
	tryEvery    = time.Second
)

// watch begins to watch the files that were opened. A server records their state.
func (db *DB) watch() (err error) {
	if db.lock != nil {
		if err := touchFile(db.writer); err != nil {
			return err
		}
		if _, _, err := db.writer.checkpoint("PASSIVE"); err != nil { // the record has the change counter of the file
			return err
		}
	}
	if db.files, err = newFileWatch(db.path); err == nil && db.lock != nil {
		err = db.files.record()
	}
	return err
}

// watchFiles notices commits of other processes while this one does not write. For a
// server it also notices what happens to the files, and, after a failed write, when writes
// succeed again. It runs until db is closed or the database fails.
func (db *DB) watchFiles() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	look, try := time.NewTicker(noticeEvery), time.NewTicker(tryEvery)
	defer look.Stop()
	defer try.Stop()
	for {
		select {
		case <-db.stop:
			return
		case <-look.C:
			if db.look(); db.broken() != nil {
				return
			}
		case <-try.C:
			if db.lock != nil && db.unwritable.Load() != nil {
				db.running.Go(func() { _ = db.change(ctx, touchFile) }) // which notes the outcome
			}
		}
	}
}

func (db *DB) look() {
	if db.lock != nil {
		if err := db.files.Check(); err != nil {
			db.fail(err)
		}
	}
	if db.writing.TryLock() { // else the transaction that is running checks it
		_ = db.checkForeignCommit() // an error here comes again with the next write, which reports it
		db.writing.Unlock()
	}
}

// touchFile writes the first page as it is. The file's change counter grows.
func touchFile(c *conn) error {
	return c.exec(fmt.Sprintf("PRAGMA application_id=%d", applicationID))
}

// abandoned reports whether the connections must not be closed: SQLite would move the
// log into another file, or one that is gone, and remove it.
func (db *DB) abandoned() bool {
	if db.files == nil {
		return false
	}
	lost, ok := errors.AsType[*lostError](db.files.Check())
	return ok && !lost.whole
}

// A fileWatch notices that the files of an open database were removed or replaced.
type fileWatch struct {
	path      string
	file, log fs.FileInfo
	opened    *os.File // by record, else nil
}

// newFileWatch returns a watch of the files of the database at path, which is open.
func newFileWatch(path string) (w *fileWatch, err error) {
	w = &fileWatch{path: path}
	if w.file, err = os.Stat(path); err != nil {
		return nil, err
	}
	if w.log, err = os.Stat(path + "-wal"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return w, nil
}

// Check returns a *lostError if the files are no longer those that were opened.
func (w *fileWatch) Check() error {
	if what := changed(w.path, w.file); what != "" {
		return &lostError{fmt.Errorf("%s %s while it was in use; put it back with its log beside it, or restore a backup with petstore restore FILE, and start again", w.path, what), false}
	}
	if what := changed(w.path+"-wal", w.log); what != "" {
		return &lostError{fmt.Errorf("%s-wal %s while it was in use; what it had is in the database when the server has ended: start again", w.path, what), true}
	}
	return nil
}

// changed returns what happened to a file, or "", as for nil, which was not there. A file that
// cannot be read may still exist.
func changed(path string, was fs.FileInfo) string {
	if was == nil {
		return ""
	}
	now, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "was removed or moved"
	case err == nil && !os.SameFile(was, now):
		return "was replaced"
	}
	return ""
}

// A lostError says what happened to the files of an open database, and what to do.
type lostError struct {
	error

	whole bool // the database file is unchanged: only its log was lost
}
