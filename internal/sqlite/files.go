package sqlite

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// companions are the ends of the names of the files that SQLite keeps beside a
// database: its log, the index of that, and what undoes a transaction.
func companions() []string { return []string{"-wal", "-shm", "-journal"} }

// Owner returns the database that SQLite keeps the file at path for, as its log
// or its index, whether that file is there or not; "" if there is no such
// database.
func Owner(path string) string {
	for _, end := range companions() {
		database, ok := strings.CutSuffix(resolved(path), end)
		if !ok {
			continue
		}
		if info, err := os.Stat(database); err == nil && info.Mode().IsRegular() {
			return database
		}
	}
	return ""
}

// Spare returns an error if a file at path must not be written, whatever its
// user says: it is the database ("" for none), belongs to one, or is another one
// that a program has open or did not close.
func Spare(database, path string) error {
	for _, end := range append(companions(), "") {
		if database != "" && same(resolved(database)+end, path) {
			return fmt.Errorf("%s: that is the database itself", path)
		}
	}
	if owner := Owner(path); owner != "" {
		return fmt.Errorf("%s: belongs to the database %s", path, owner)
	}
	for _, end := range companions() {
		if _, err := os.Stat(resolved(path) + end); err == nil {
			return fmt.Errorf("%s: is a database that is in use, or was not closed: %s is beside it", path, filepath.Base(resolved(path)+end))
		}
	}
	return nil
}

// resolved returns what path leads to, by which SQLite names the log.
func resolved(path string) string {
	if to, err := filepath.EvalSymlinks(path); err == nil {
		return to
	}
	return path
}
