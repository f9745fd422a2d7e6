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
	if errors.Is(err, ErrInUse) {
		return nil
	}
	return err
}

// checkLog is refuseForeignLog for files to which nobody writes.
func checkLog(path string) error {
	log, err := readStart(path+"-wal", logHeaderSize)
	if errors.Is(err, fs.ErrNotExist) || err == nil && log == nil {
		return nil
	}
	info, missing := os.Stat(path)
	if err = errors.Join(err, missing); err != nil {
		return err
	}
	file, err := readStart(path, headerSize)
	if err != nil {
		return err
	}
	if why := foreign(file, inodeOf(info), log, readLockRecord(path)); why != "" {
		return fmt.Errorf("the log %[1]s-wal is not of this file: %[2]s; to keep the database as it was, put its own file back; to continue with this one, "+
			"move it and the log away, and run petstore restore on it", path, why)
	}
	return nil
}

// foreign returns why a log does not belong to a file, of both of which it has the first
// bytes, or "" if it may. The record may be nil, or of another log.
func foreign(file []byte, inode uint64, log []byte, r *lockRecord) string {
	switch {
	case file == nil:
		return "it is empty"
	case file[18] != 2: // the write version: there is no write-ahead log of it
		return "it was closed in good order, or is a backup"
	case r == nil || r.Log != lineageOf(log):
		return ""
	case r.File != 0 && r.File != inode:
		return "it is another file than the one that was served"
	case int32(changesOf(file)-r.Changes) < 0: //nolint:gosec // the counter wraps
		return "it is older than the log"
	}
	return ""
}

// The lengths of the headers of a database file (https://sqlite.org/fileformat2.html, section
// 1.3) and of a write-ahead log (section 4.1).
const (
	headerSize    = 100
	logHeaderSize = 32
)

// changesOf returns the change counter of a database file.
func changesOf(file []byte) uint32 { return binary.BigEndian.Uint32(file[24:]) }

// lineageOf identifies a log by the difference of its salt and the number of its resets. It stays
// the same when SQLite overwrites the log from its start, since both numbers then grow by one.
func lineageOf(log []byte) uint32 {
	return binary.BigEndian.Uint32(log[16:]) - binary.BigEndian.Uint32(log[12:])
}

// startOf returns the first n bytes of a file, or nil if it has fewer.
func startOf(f *os.File, n int) ([]byte, error) {
	b := make([]byte, n)
	if _, err := f.ReadAt(b, 0); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	return b, nil
}

func readStart(path string, n int) ([]byte, error) {
	f, err := os.Open(path) //nolint:gosec // the database, or beside it
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return startOf(f, n)
}
