package sqlite

import (
	"errors"
	"fmt"

	"zombiezen.com/go/sqlite"
)

// A gravity says how far an error of SQLite reaches.
type gravity int

const (
	ordinary gravity = iota // a fault of one write, or no error of SQLite's at all
	passing                 // the transaction is lost; a later one may work
	final                   // what is on the disk can no longer be trusted to be what we wrote
)

// gravityOf judges by the result code alone.
func gravityOf(err error) gravity {
	code := sqlite.ErrCode(err)
	switch code.ToPrimary() {
	case sqlite.ResultIOErr:
		switch code {
		case sqlite.ResultIOErrSHMSize, sqlite.ResultIOErrNoMem: // a full disk under the shared memory; no memory
			return passing
		}
		return final
	case sqlite.ResultCorrupt, sqlite.ResultNotADB:
		return final
	case sqlite.ResultFull, sqlite.ResultBusy, sqlite.ResultLocked, sqlite.ResultInterrupt, sqlite.ResultNoMem,
		sqlite.ResultCantOpen, sqlite.ResultReadOnly, sqlite.ResultProtocol, sqlite.ResultPerm, sqlite.ResultAbort:
		return passing
	}
	return ordinary
}

// explain puts SQLite's codes that a user meets when opening a file in words.
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
