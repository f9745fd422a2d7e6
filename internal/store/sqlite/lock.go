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

// lockDatabase locks the database at path for a server, which keeps other servers away, until
// the file that it returns is closed or the process ends. It waits for another server to end,
// and calls waiting with the process of that. It returns an error if the wait is over, if
// [refuseForeignLog] has one, or if ctx ends.
func lockDatabase(ctx context.Context, path string, wait time.Duration, waiting func(process string)) (*os.File, error) {
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
	return f, nil
}

// serverOf names the process that serves the database at path.
func serverOf(path string) string {
	if r := readLockRecord(path); r != nil {
		return strconv.Itoa(r.PID)
	}
	return "that has locked " + path + lockSuffix
}

func acquire(ctx context.Context, f *os.File, path string, wait time.Duration, waiting func(process string)) error {
	deadline := time.Now().Add(wait)
	for logged := false; ; logged = true {
		if got, err := tryLock(f, false); got || err != nil {
			return err
		}
		if ctx.Err() != nil || !time.Now().Before(deadline) {
			return cmp.Or(ctx.Err(), fmt.Errorf("is served by the process %s: stop that first", serverOf(path)))
		}
		if !logged {
			waiting(serverOf(path))
		}
		select {
		case <-ctx.Done():
		case <-time.After(askForLock):
		}
	}
}

// ErrInUse is the error of a file that has to be closed, and that another process has open.
var ErrInUse = errors.New("is in use: stop the server first")

// whileUnserved calls f while no server has the database at path or can get it. Several
// callers may do so at the same time. It returns ErrInUse if a server has it.
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
		err = ErrInUse
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
	Log     uint32 `json:"log"`     // which log, see lineageOf
	Changes uint32 `json:"changed"` // the file's change counter; "changes" was one that it would have had later
}

// readLockRecord returns nil if there is no record.
func readLockRecord(path string) *lockRecord {
	text, err := os.ReadFile(path + lockSuffix)
	var r lockRecord
	if err != nil || json.Unmarshal(text, &r) != nil {
		return nil
	}
	if info, err := os.Stat(path + lockSuffix); err != nil || inodeOf(info) != r.Self {
		r.Self, r.File = 0, 0
	}
	return &r
}

// record writes the lockRecord of this process, just after SQLite has opened the files and
// written to the first page. [refuseForeignLog] reads it at the next start. The file that it
// opens must be closed after all connections of this process, because closing a file
// releases SQLite's locks on it (POSIX, fcntl).
func (w *fileWatch) record() (err error) {
	if w.opened, err = os.Open(w.path); err != nil {
		return err
	}
	file, unread := startOf(w.opened, headerSize)
	log, unreadLog := readStart(w.path+"-wal", logHeaderSize)
	lock, missing := os.Stat(w.path + lockSuffix)
	if err := errors.Join(unread, unreadLog, missing); err != nil {
		return err
	}
	if file == nil || log == nil {
		return errors.New("the file or its log is too short")
	}
	text, err := json.Marshal(lockRecord{os.Getpid(), inodeOf(lock), inodeOf(w.file), lineageOf(log), changesOf(file)})
	if err != nil {
		return err
	}
	return os.WriteFile(w.path+lockSuffix, append(text, '\n'), 0o600)
}
