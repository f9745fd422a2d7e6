package postgres

import (
	"context"
	"errors"
	"fmt"
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

// oldest is the first version of PostgreSQL that is supported, as the server
// numbers it.
const oldest = 150000

// Diagnose returns which settings of the server of the database at url lose data or are
// not supported. Errors are as those of [Open].
func Diagnose(ctx context.Context, url string) (problems []string, err error) {
	var version int
	var fsync, pages, encoding string
	err = administer(ctx, url, func(c migrated) error {
		return c.QueryRow(ctx, `SELECT current_setting('server_version_num')::int, current_setting('fsync'),
			current_setting('full_page_writes'), current_setting('server_encoding')`).Scan(&version, &fsync, &pages, &encoding)
	})
	if err != nil {
		return nil, err
	}
	if version < oldest {
		problems = append(problems, fmt.Sprintf("the server is PostgreSQL %d; it must be %d or later", version/10000, oldest/10000))
	}
	if encoding != "UTF8" {
		problems = append(problems, fmt.Sprintf("the database's encoding is %s; it must be UTF8", encoding))
	}
	if fsync == "off" || pages == "off" {
		problems = append(problems, fmt.Sprintf("fsync is %s and full_page_writes is %s: a crash of the machine can ruin the database", fsync, pages))
	}
	return problems, nil
}
