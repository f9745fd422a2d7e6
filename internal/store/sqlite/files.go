package sqlite

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// This file knows the files of a database: which ones they are, and whether a log belongs
// to its database file. It changes none of them. Paths have their symbolic links resolved,
// since SQLite names the log after the file that a link leads to.

// CheckOverwrite returns an error if a file at path must not be overwritten, even if the user asks
// for it: it is the database ("" for none), or belongs to it, or is another database that a program
// has open or did not close. The paths may be links.
func CheckOverwrite(database, path string) error {
	ends := []string{"-wal", "-shm", "-journal"}
	for _, end := range append([]string{"", lockSuffix}, ends...) {
		if own := resolved(database) + end; database != "" && (sameFile(own, path) || own == path) {
			return fmt.Errorf("%s: that is the database itself", path)
		}
	}
	for _, end := range ends {
		if _, err := os.Stat(resolved(path) + end); err == nil {
			return fmt.Errorf("%s: is a database that is in use, or was not closed: %s is beside it", path, filepath.Base(resolved(path)+end))
		}
	}
	return nil
}

// sameFile reports whether both paths lead to the same file, which exists.
func sameFile(a, b string) bool {
	first, err := os.Stat(a)
	if err != nil {
		return false
	}
	second, err := os.Stat(b)
	return err == nil && os.SameFile(first, second)
}

func resolved(path string) string {
	if to, err := filepath.EvalSymlinks(path); err == nil {
		return to
	}
	return path
}

// refuseForeignLog returns an error if the log next to the file at path is that of another file, for example
// because a copy was put in its place: SQLite would apply the log to it. It checks nothing while a server
// has the database, which checks this itself.
func refuseForeignLog(path string) error {
	err := whileUnserved(path, func() error { return checkLog(path) })
	if errors.Is(err, errServed) {
		return nil
	}
	return err
}

// checkLog is refuseForeignLog for files to which nobody writes.
func checkLog(path string) error {
	log, err := readLogHeader(path + "-wal")
	if err != nil || log == nil {
		return err
	}
	file, err := readHeader(path)
	if err != nil {
		return err
	}
	if why := foreign(file, log, readLockRecord(path)); why != "" {
		return fmt.Errorf("the log %[1]s-wal is not of this file: %[2]s; to keep the database as it was, put its own file back; to continue with this one, "+
			"move it and the log away, and run petstore restore on it", path, why)
	}
	return nil
}

// hasLog reports whether there is a log of the file at path, which may be missing.
func hasLog(path string) bool {
	info, err := os.Stat(path + "-wal")
	return err == nil && info.Size() > 0
}

// foreign returns why a log does not belong to a file, or "" if it may. The record may
// be nil, or of another log.
func foreign(file header, log *logHeader, t *lockRecord) string {
	switch {
	case file.size < headerSize:
		return "it is empty"
	case file.rollback:
		return "it was closed in good order, or is a backup"
	case t == nil || t.Log != log.lineage():
		return ""
	case t.File != 0 && t.File != file.inode:
		return "it is another file than the one that was served"
	case before(file.changes, t.Changes):
		return "it is older than the log"
	}
	return ""
}

// before reports whether a counter that wraps is at a before b.
func before(a, b uint32) bool { return int32(a-b) < 0 } //nolint:gosec // wraps as it should

// headerSize is the length of the header of a database file
// (https://sqlite.org/fileformat.html, section 1.3).
const headerSize = 100

// A header is what is needed of the header of a database file.
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
	var b [headerSize]byte
	if _, err := f.ReadAt(b[:], 0); err != nil && !errors.Is(err, io.EOF) {
		return h, err
	}
	return header{info.Size(), inodeOf(info), b[18] != 2, binary.BigEndian.Uint32(b[24:])}, nil
}

// A logHeader is what is needed of the header of a write-ahead log
// (https://sqlite.org/fileformat2.html, section 4.1).
type logHeader struct{ resets, salt uint32 }

// lineage identifies a log. It stays the same when SQLite overwrites the log from its
// start, since both numbers then grow by one.
func (h *logHeader) lineage() uint32 { return h.salt - h.resets }

// readLogHeader returns nil if there is no log, or if it is empty.
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
	return &logHeader{binary.BigEndian.Uint32(b[12:]), binary.BigEndian.Uint32(b[16:])}, nil
}
