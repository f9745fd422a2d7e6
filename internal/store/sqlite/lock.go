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
	"sync"
	"time"
)

// lockEnd is the end of the name of the file that a server locks while it has the
// database open. The file stays when the server ends: it says that there was a
// database, and which one.
const lockEnd = "-lock"

// How often a lock that is taken is asked for again.
const askForLock = 20 * time.Millisecond

// A fileLock is a server's on its database: no other server gets it meanwhile. The
// system gives it back when the process ends.
type fileLock struct {
	path string // of the database
	file *os.File

	mu    sync.Mutex
	trace trace // zero before watch
}

// lockDatabase locks the database at path for a server, and waits so long for another
// one to end; waiting is told which process that is. It returns an error if
// [refuseForeignLog] has one, and if ctx ends.
func lockDatabase(ctx context.Context, path string, wait time.Duration, waiting func(process string)) (*fileLock, error) {
	f, err := os.OpenFile(path+lockEnd, os.O_RDWR|os.O_CREATE, 0o600)
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
	if t := readTrace(path); t != nil {
		return strconv.Itoa(t.PID)
	}
	return "that has locked " + path + lockEnd
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

// watch is [newFileWatch] for the server, just after SQLite has opened the files and
// written to the first page. It notes how the files stand for [CheckPresent] and
// [refuseForeignLog] of the next start. To read the file it opens it until the watch is
// closed, which must be after all connections of this process: closing a file drops the
// locks of SQLite (POSIX, fcntl).
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
		l.trace = trace{Since: time.Now(), File: h.inode, Log: log.lineage(), Changes: h.changes}
		err = l.trace.write(l.file)
	}
	return w, err
}

// lost notes for the next start that the files were removed or replaced, so that it does
// not make an empty database.
func (l *fileLock) lost() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	f, err := os.OpenFile(l.path+lockEnd, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return l.trace.write(l.file)
	} else if err != nil {
		return err
	}
	return errors.Join(l.trace.write(f), f.Close()) // the lock went with the database
}

// Close lets another server have the database. A nil fileLock has nothing to close.
func (l *fileLock) Close() error {
	if l == nil {
		return nil
	}
	return l.file.Close()
}

// errServed is what whileUnserved returns if a server has the database.
var errServed = errors.New("is served by another process")

// whileUnserved runs f while no server has the database at path, nor can get it. Others may
// be in a call of whileUnserved at the same time.
func whileUnserved(path string, f func() error) error {
	file, err := os.OpenFile(path+lockEnd, os.O_RDWR, 0) // none is made
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

// A trace is what a server leaves in its lock file.
type trace struct {
	PID   int       `json:"pid"`
	Since time.Time `json:"since"`
	Self  uint64    `json:"self"` // the inode of the lock file: another one is a copy, as of a whole folder
	File  uint64    `json:"file"` // the inode of the database

	// How the log and the file stood when the server had opened them.
	Log     uint32 `json:"log"`     // which log, see logHeader.lineage
	Changes uint32 `json:"changed"` // the file's change counter; "changes" was one that it would have had later
}

// readTrace returns nil if there is none.
func readTrace(path string) *trace {
	text, err := os.ReadFile(path + lockEnd)
	var t trace
	if err != nil || json.Unmarshal(text, &t) != nil {
		return nil
	}
	if info, err := os.Stat(path + lockEnd); err != nil || inodeOf(info) != t.Self {
		t.Self, t.File = 0, 0
	}
	return &t
}

// write writes the trace of this process into a file of a lock.
func (t *trace) write(f *os.File) error {
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
