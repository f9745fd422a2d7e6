package sqlite

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"time"
)

// lockSuffix is the suffix of the file that a server locks while it has the database
// open. The file stays when the server ends, with a lockRecord of the database.
const lockSuffix = "-lock"

// askForLock is the pause between two attempts to get a lock.
const askForLock = 20 * time.Millisecond

// A fileLock is the lock of a server on its database, which keeps other servers away.
// The system releases it when the process ends.
type fileLock struct {
	path string // of the database
	file *os.File
}

// lockDatabase locks the database at path for a server. It waits for another server to
// end, and calls waiting with the process of that. It returns an error if the wait is
// over, if [refuseForeignLog] has one, or if ctx ends.
func lockDatabase(ctx context.Context, path string, wait time.Duration, waiting func(process string)) (*fileLock, error) {
	f, err := os.OpenFile(path+lockSuffix, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err = acquire(ctx, f, path, wait, waiting); err == nil {
		err = checkLog(path)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &fileLock{path: path, file: f}, nil
}

// serverOf names the process that serves the database at path.
func serverOf(path string) string {
	if t := readLockRecord(path); t != nil {
		return strconv.Itoa(t.PID)
	}
	return "that has locked " + path + lockSuffix
}

func acquire(ctx context.Context, f *os.File, path string, wait time.Duration, waiting func(process string)) error {
	deadline := time.Now().Add(wait)
	for told := false; ; told = true {
		if got, err := tryLock(f, false); got || err != nil {
			return err
		}
		if ctx.Err() != nil || !time.Now().Before(deadline) {
			return cmp.Or(ctx.Err(), fmt.Errorf("is served by the process %s: stop that first", serverOf(path)))
		}
		if !told {
			waiting(serverOf(path))
		}
		select {
		case <-ctx.Done():
		case <-time.After(askForLock):
		}
	}
}

// watch is [newFileWatch] for a server, just after SQLite has opened the files and
// written to the first page. It records the state of the files for [refuseForeignLog] of
// the next start. To read the database it opens the file, until
// the watch is closed; that must be after all connections of this process, because
// closing a file releases SQLite's locks on it (POSIX, fcntl).
func (l *fileLock) watch() (*fileWatch, error) {
	w, err := newFileWatch(l.path)
	if err != nil {
		return nil, err
	}
	log, err := readLogHeader(l.path + "-wal")
	if err != nil || log == nil {
		return nil, errors.Join(err, errors.New("the log cannot be read"))
	}
	if w.opened, err = os.Open(l.path); err != nil {
		return nil, err
	}
	h, err := headerOf(w.opened)
	if err == nil {
		err = (&lockRecord{File: h.inode, Log: log.lineage(), Changes: h.changes}).write(l.file)
	}
	return w, err
}

// Close releases the lock. It does nothing on nil.
func (l *fileLock) Close() error {
	if l == nil {
		return nil
	}
	return l.file.Close()
}

// errServed is the error of whileUnserved if a server has the database.
var errServed = errors.New("is served by another process")

// whileUnserved calls f while no server has the database at path or can get it. Several
// callers may do so at the same time.
func whileUnserved(path string, f func() error) error {
	file, err := os.OpenFile(path+lockSuffix, os.O_RDWR, 0) // which is not created
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return f()
	} else if err != nil {
		return err
	}
	defer file.Close()
	got, err := tryLock(file, true)
	if err == nil && !got {
		err = errServed
	}
	if err != nil {
		return err
	}
	return f()
}

// A lockRecord is what a server writes into its lock file about itself and its
// database.
type lockRecord struct {
	PID  int    `json:"pid"`
	Self uint64 `json:"self"` // the inode of the lock file: another one is a copy, as of a whole folder
	File uint64 `json:"file"` // the inode of the database

	// The state of the log and the file when the server had opened them.
	Log     uint32 `json:"log"`     // which log, see logHeader.lineage
	Changes uint32 `json:"changed"` // the file's change counter; "changes" was one that it would have had later
}

// readLockRecord returns nil if there is no record.
func readLockRecord(path string) *lockRecord {
	text, err := os.ReadFile(path + lockSuffix)
	var t lockRecord
	if err != nil || json.Unmarshal(text, &t) != nil {
		return nil
	}
	if info, err := os.Stat(path + lockSuffix); err != nil || inodeOf(info) != t.Self {
		t.Self, t.File = 0, 0
	}
	return &t
}

// write writes the record, of this process, into a lock file.
func (t *lockRecord) write(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	t.PID, t.Self = os.Getpid(), inodeOf(info)
	text, err := json.Marshal(t)
	if err != nil {
		return err
	}
	if _, err := f.WriteAt(append(text, '\n'), 0); err != nil {
		return err
	}
	return f.Truncate(int64(len(text)) + 1)
}
