package sqlite

import (
	"time"

	"zombiezen.com/go/sqlite"
)

// noticeEvery bounds how long a commit of another process goes unnoticed.
const noticeEvery = 200 * time.Millisecond

// notice finds out whether another process has committed: then the cache is void,
// and if it was a newer version of this program that migrated the file, no call is
// served any more. The writer calls it in each of its transactions, in which nobody
// else commits, and while it waits.
func (db *DB) notice() error {
	before := db.version
	_, err := db.writer.one("PRAGMA data_version", func(row *sqlite.Stmt) { db.version = row.ColumnInt64(0) })
	if err != nil || db.version == before {
		return err
	}
	db.cache.flush()
	return db.checkSchema()
}

// selectSchema is of what the last migration has set, 0 in a file whose last one did
// not yet.
const selectSchema = "PRAGMA user_version"

// checkSchema returns an error, and fails the database, if its schema is a newer
// one.
func (db *DB) checkSchema() error {
	has := 0
	_, err := db.writer.one(selectSchema, func(row *sqlite.Stmt) { has = row.ColumnInt(0) })
	if err == nil && has > known.Latest() {
		err = known.Newer(has)
		db.fail(err)
	}
	return err
}
