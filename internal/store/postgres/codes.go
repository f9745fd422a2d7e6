package postgres

import (
	"context"
	"errors"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store"
	"github.com/jackc/pgx/v5/pgconn"
)

// The codes of SQLSTATE that are told apart (PostgreSQL, appendix A).
const (
	stateUniqueViolation     = "23505"
	stateForeignKeyViolation = "23503"
	stateSerialization       = "40001"
	stateDeadlock            = "40P01"
	stateStatementUnknown    = "26000" // a prepared statement of a session that is gone
	stateReadOnly            = "25006"
	stateLockNotAvailable    = "55P03"
)

// A gravity says how far an error of the database reaches.
type gravity int

const (
	ordinary gravity = iota // a fault of one write, or no error of the database at all
	conflict                // the transaction met another one; trying again helps
	absent                  // the database cannot be reached or cannot serve now
)

// state returns the SQLSTATE of an error of the server, or "".
func state(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}

// gravityOf judges by the kind of the error and its SQLSTATE alone.
func gravityOf(err error) gravity {
	if _, ok := errors.AsType[*petstore.Error](err); ok || err == nil {
		return ordinary
	}
	code := state(err)
	switch code {
	case "":
		return gravityOfOwn(err)
	case stateSerialization, stateDeadlock:
		return conflict
	case stateReadOnly, stateLockNotAvailable, stateStatementUnknown:
		return absent
	}
	switch code[:2] {
	case "08", "53", "57", "58", "F0", "XX", "28", "3D": // connection, resources, intervention, I/O, internal, refused
		return absent
	}
	return ordinary
}

// gravityOfOwn judges errors that are not the server's: those of the network,
// of contexts and of the pool mean that it was not reached.
func gravityOfOwn(err error) gravity {
	if errors.Is(err, store.ErrPanicked) || errors.Is(err, store.ErrSplit) || errors.Is(err, store.ErrUsedUp) || errors.Is(err, store.ErrDamaged) {
		return ordinary
	}
	return absent
}

// toClientError turns an error of the database into what a caller sees.
func toClientError(err error) error {
	if err == nil || gravityOf(err) == ordinary {
		return err
	}
	return petstore.Unavailable(err)
}

// lost reports whether the connection ended without a word on the transaction,
// or the server cannot take writes at the moment: on another connection it may
// go on.
func lost(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	code := state(err)
	return gravityOf(err) == absent && (code == "" || code[:2] == "08" || code[:2] == "57" ||
		code == stateReadOnly || code == stateStatementUnknown)
}
