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
	stateSerialization    = "40001"
	stateDeadlock         = "40P01"
	stateStatementUnknown = "26000" // a prepared statement of a session that is gone
	stateReadOnly         = "25006"
	stateLockNotAvailable = "55P03"
)

// A severity says what an error of the database means for the calls that come next.
type severity int

const (
	ordinary    severity = iota // the error concerns one write, or is not the database's at all
	conflict                    // another transaction was in the way; trying again helps
	unavailable                 // the database cannot be reached or cannot serve now
)

// state returns the SQLSTATE of an error of the server, or "".
func state(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}

// severityOf judges an error by its type and its SQLSTATE alone.
func severityOf(err error) severity {
	if _, ok := errors.AsType[*petstore.Error](err); ok || err == nil {
		return ordinary
	}
	code := state(err)
	switch code {
	case "": // it is not the server's: the network's, a context's or the pool's means that the server was not reached
		if errors.Is(err, store.ErrLocked) || errors.Is(err, store.ErrPanicked) || errors.Is(err, store.ErrUsedUp) || errors.Is(err, store.ErrDamaged) {
			return ordinary
		}
		return unavailable
	case stateSerialization, stateDeadlock:
		return conflict
	case stateReadOnly, stateLockNotAvailable, stateStatementUnknown:
		return unavailable
	}
	switch code[:2] {
	case "08", "53", "57", "58", "F0", "XX", "28", "3D": // connection, resources, intervention, I/O, internal, refused
		return unavailable
	}
	return ordinary
}

// toClientError turns an error of the database into what a caller sees.
func toClientError(err error) error {
	if err == nil || severityOf(err) == ordinary {
		return err
	}
	return petstore.Unavailable(err)
}

// lost reports whether the connection ended before the server said what became of the
// transaction, or the server cannot take writes at the moment: another connection may
// succeed.
func lost(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	code := state(err)
	return severityOf(err) == unavailable && (code == "" || code[:2] == "08" || code[:2] == "57" ||
		code == stateReadOnly || code == stateStatementUnknown)
}
