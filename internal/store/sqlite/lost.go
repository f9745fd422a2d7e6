package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// A fileWatch notices that the files of an open database were removed or replaced.
type fileWatch struct {
	path      string
	file, log fs.FileInfo
	opened    *os.File // by fileLock.Watch; nil otherwise
}

// newFileWatch takes note of the files of the database at path, which is open.
func newFileWatch(path string) (*fileWatch, error) {
	w := &fileWatch{path: path}
	var err error
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
		return &lostError{path: w.path, what: what}
	}
	if w.log != nil {
		if what := changed(w.path+"-wal", w.log); what != "" {
			return &lostError{path: w.path, what: what, Whole: true}
		}
	}
	return nil
}

// Close ends the watch, after SQLite has closed the database. A nil fileWatch has
// nothing to close.
func (w *fileWatch) Close() {
	if w != nil && w.opened != nil {
		_ = w.opened.Close() // it was only read
	}
}

// changed says what became of a file, "" for nothing. What cannot be looked at
// may still be there.
func changed(path string, was fs.FileInfo) string {
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
	Whole bool // the database file is untouched: only its log is lost

	path, what string
}

func (e *lostError) Error() string {
	if e.Whole {
		return fmt.Sprintf("%s-wal %s while it was in use; what it had is in the database when the server has ended: start again", e.path, e.what)
	}
	return fmt.Sprintf("%s %s while it was in use; put it back with its log beside it, or restore a backup with petstore restore FILE, and start again", e.path, e.what)
}
