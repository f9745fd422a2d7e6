package sqlite

import (
	"errors"
	"fmt"

	"zombiezen.com/go/sqlite"
)

// A severity says how much an error of SQLite affects.
type severity int

const (
	ordinary  severity = iota // one write, or it is not an error of SQLite
	temporary                 // the transaction, which is lost; a later one may work
	fatal                     // the database: the disk may not have what was written
)

// severityOf decides by the result code alone.
func severityOf(err error) severity {
	code := sqlite.ErrCode(err)
	switch code.ToPrimary() {
	case sqlite.ResultIOErr:
		switch code {
		case sqlite.ResultIOErrSHMSize, sqlite.ResultIOErrNoMem: // a full disk under the shared memory; no memory
			return temporary
		}
		return fatal
	case sqlite.ResultCorrupt, sqlite.ResultNotADB:
		return fatal
	case sqlite.ResultFull, sqlite.ResultBusy, sqlite.ResultLocked, sqlite.ResultInterrupt, sqlite.ResultNoMem,
		sqlite.ResultCantOpen, sqlite.ResultReadOnly, sqlite.ResultProtocol, sqlite.ResultPerm, sqlite.ResultAbort:
		return temporary
	}
	return ordinary
}

// IsDamage reports whether an error says that the file, or its disk, cannot be read any more.
func IsDamage(err error) bool { return severityOf(err) == fatal }

// explain returns errors that a user meets when opening a file in words, instead of
// SQLite's codes.
func explain(err error) error {
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultNotADB:
		return errors.New("is not an SQLite database")
	case sqlite.ResultCorrupt:
		return fmt.Errorf("is damaged: %w", err)
	case sqlite.ResultBusy, sqlite.ResultLocked:
		return fmt.Errorf("is locked by another process: %w", err)
	case sqlite.ResultReadOnly, sqlite.ResultCantOpen, sqlite.ResultPerm:
		return fmt.Errorf("cannot be written; the file and its directory must both be writable: %w", err)
	}
	return err
}
