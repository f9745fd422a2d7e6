package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// probeTimeout is how long Err waits for an answer.
const probeTimeout = 2 * time.Second

// errReplica is returned for a server that answers, but takes no writes.
var errReplica = errors.New("the server is a replica, and takes no writes")

// Err asks the database, and returns why nothing can be written now, or nil.
func (db *DB) Err() error {
	ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
	defer cancel()
	return toClientError(db.writer.Ping(ctx)) // no connection of it is to a replica
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
