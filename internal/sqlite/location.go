package sqlite

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// lockEnd is the end of the name of the file that a server locks while it has the
// database open. The file stays when the server ends: it says that there was a
// database, and which one.
const lockEnd = "-lock"

// A trace is what a server leaves in its lock file.
type trace struct {
	PID   int       `json:"pid"`
	Since time.Time `json:"since"`
	Self  uint64    `json:"self"` // the inode of the lock file: another one is a copy, as of a whole folder
	File  uint64    `json:"file"` // the inode of the database

	// How the log and the file stood when the server had opened them.
	Log     uint32 `json:"log"`     // which log, see logHeader.lineage
	Resets  uint32 `json:"resets"`  // how often it had begun anew
	Changes uint32 `json:"changes"` // the file's change counter, with the page that the server wrote first

	Overwritten bool `json:"overwritten,omitempty"` // while the server had it open: parts of the log are in the file
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

// leaveTrace writes the trace into the file of the lock.
func leaveTrace(f *os.File, t trace) error {
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

const advice = "put it back, or restore a backup with petstore restore FILE"

// CheckPresent returns an error that says what to do if there is no database at
// path although there was one.
func CheckPresent(path string) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return checkPresent(path)
}

// checkPresent returns why no new database may be made where none is: there was
// one.
func checkPresent(path string) error {
	if info, err := os.Stat(path + "-wal"); err == nil && info.Size() > 0 {
		return fmt.Errorf("the file is missing, but its log %s-wal is there: %s", path, advice)
	}
	if t := readTrace(path); t != nil {
		return fmt.Errorf("the file is missing, but the process %d served it since %s: %s; to begin with an empty one, remove %s%s",
			t.PID, t.Since.UTC().Format(time.RFC3339), advice, path, lockEnd)
	}
	return nil
}

// checkLog returns an error if the file at path has a log beside it that is not
// its own, as after a copy was put in its place. SQLite would join them. Nobody may
// be writing to them.
func checkLog(path string) error {
	log, err := readLogHeader(path + "-wal")
	if err != nil {
		return err
	}
	t := readTrace(path)
	if log == nil && t == nil {
		return nil
	}
	file, err := readHeader(path)
	if err != nil {
		return err
	}
	if t != nil && t.Overwritten && t.File == file.inode {
		return fmt.Errorf("the file was overwritten while the process %d served it: restore a backup with petstore restore FILE --force", t.PID)
	}
	if log == nil {
		if file.size == 0 {
			return fmt.Errorf("the file is empty, but the process %d served it since %s: %s", t.PID, t.Since.UTC().Format(time.RFC3339), advice)
		}
		return nil
	}
	why := ""
	switch {
	case file.size < headerSize:
		why = "it is empty"
	case file.rollback:
		why = "it was closed in good order, or is a backup"
	case t == nil || t.Log != log.lineage():
	case t.File != 0 && t.File != file.inode:
		why = "it is another file than the one that was served"
	case before(file.changes, t.Changes-1), log.resets != t.Resets && before(file.changes, t.Changes):
		why = "it is older than the log"
	}
	if why == "" {
		return nil
	}
	return fmt.Errorf("the log %[1]s-wal is not of this file: %[2]s; to keep the database as it was, put its own file back; to go on with this one, "+
		"move it and the log away, and run petstore restore on it", path, why)
}

// before reports whether a counter that wraps is at a before b.
func before(a, b uint32) bool { return int32(a-b) < 0 } //nolint:gosec // wraps as it should

// A location is where the files of an open database are, by which it is noticed
// that they were removed, replaced or overwritten.
type location struct {
	path      string
	file, log fs.FileInfo
	header    *os.File // nil if only names are watched
	last      header   // as it was seen last
}

// newLocation looks at the files of a database that was opened. If deep, it looks
// into the file, too; then no other DB of this process may have it open, as the
// close of a file drops the locks that the process has on it (POSIX, fcntl).
func newLocation(path string, deep bool) (*location, error) {
	p := &location{path: path}
	var err error
	if p.file, err = os.Stat(path); err != nil {
		return nil, err
	}
	if p.log, err = os.Stat(path + "-wal"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if !deep {
		return p, nil
	}
	if p.header, err = os.Open(path); err != nil { //nolint:gosec // the database
		return nil, err
	}
	p.last, err = headerOf(p.header)
	return p, err
}

// A lostError says what happened to the files of an open database.
type lostError struct {
	path, what string
	whole      bool // the database file is untouched
	overwrote  bool // it is the same file, with something else in it
}

func (e *lostError) Error() string {
	if e.whole {
		return fmt.Sprintf("%s-wal %s while it was in use; what it had is in the database when the server has ended: start again", e.path, e.what)
	}
	if e.overwrote {
		return fmt.Sprintf("%s %s while it was in use; restore a backup with petstore restore FILE --force, and start again", e.path, e.what)
	}
	return fmt.Sprintf("%s %s while it was in use; put it back with its log beside it, or restore a backup with petstore restore FILE, and start again", e.path, e.what)
}

// check returns a *lostError if the files are no longer those that were opened.
func (p *location) check() error {
	if what := changed(p.path, p.file); what != "" {
		return &lostError{path: p.path, what: what}
	}
	if p.log != nil {
		if what := changed(p.path+"-wal", p.log); what != "" {
			return &lostError{path: p.path, what: what, whole: true}
		}
	}
	return nil
}

// checkDeep is check, and looks whether the file was overwritten. One goroutine
// at a time calls it.
func (p *location) checkDeep() error {
	if err := p.check(); err != nil || p.header == nil {
		return err
	}
	h, err := headerOf(p.header)
	if err != nil {
		return err
	}
	if h.size < p.last.size || h.rollback != p.last.rollback || before(h.changes, p.last.changes) {
		return &lostError{path: p.path, what: "was overwritten", overwrote: true}
	}
	p.last = h
	return nil
}

func (p *location) close() {
	if p != nil && p.header != nil {
		_ = p.header.Close() // it was only read
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

// headerSize is how much of a database file says what it is
// (https://sqlite.org/fileformat.html, section 1.3).
const headerSize = 100

// A header is what the beginning of a database file says.
type header struct {
	size     int64
	inode    uint64
	rollback bool   // there is no write-ahead log of it
	changes  uint32 // the change counter
}

func readHeader(path string) (header, error) {
	f, err := os.Open(path) //nolint:gosec // the database
	if err != nil {
		return header{}, err
	}
	h, err := headerOf(f)
	return h, errors.Join(err, f.Close())
}

func headerOf(f *os.File) (h header, err error) {
	info, err := f.Stat()
	if err != nil {
		return h, err
	}
	h.size, h.inode = info.Size(), inodeOf(info)
	var b [headerSize]byte
	if _, err := f.ReadAt(b[:], 0); err != nil && !errors.Is(err, io.EOF) {
		return h, err
	}
	h.rollback, h.changes = b[18] != 2, bigEndian(b[24:])
	return h, nil
}

// A logHeader is what the beginning of a write-ahead log says
// (https://sqlite.org/fileformat2.html, section 4.1).
type logHeader struct{ resets, salt uint32 }

// lineage tells logs apart: it stays when a log begins anew, as then both numbers
// grow by one.
func (h *logHeader) lineage() uint32 { return h.salt - h.resets }

// readLogHeader returns nil if there is no log, or nothing in it.
func readLogHeader(path string) (*logHeader, error) {
	f, err := os.Open(path) //nolint:gosec // beside the database
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	defer f.Close()
	var b [32]byte
	if _, err := io.ReadFull(f, b[:]); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	return &logHeader{bigEndian(b[12:]), bigEndian(b[16:])}, nil
}

func bigEndian(b []byte) uint32 {
	return uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
}
