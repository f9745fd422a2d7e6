package postgres

import (
	"context"
	"errors"
)

// errReplica is returned for a server that answers, but takes no writes.
var errReplica = errors.New("the server is a replica, and takes no writes")

// Err returns why nothing can be written now, or nil, as [DB.Follow] has found last. It
// does not ask the database.
func (db *DB) Err() error {
	if err := db.trouble.Load(); err != nil {
		return *err
	}
	return nil
}

// note keeps for Err whether the database can be reached, and logs when that changes.
func (db *DB) note(err error) {
	switch was := db.Err(); {
	case was == nil && err != nil:
		db.log.Error("the database cannot be reached", "database", db.name, "err", err)
	case was != nil && err == nil:
		db.log.Info("the database can be reached again", "database", db.name)
	}
	if err == nil {
		db.trouble.Store(nil)
		return
	}
	err = toClientError(err)
	db.trouble.Store(&err)
}

// Size returns how many bytes the database takes on its server.
func (db *DB) Size(ctx context.Context) (n int64, err error) {
	err = db.readers.QueryRow(ctx, "SELECT pg_database_size(current_database())").Scan(&n)
	return n, err
}
