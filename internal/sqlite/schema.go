package sqlite

import (
	"context"
	"sync/atomic"

	"zombiezen.com/go/sqlite"
)

// A schemaWatch notices that a newer version of this program has migrated the file
// while this one had it open: then no call is served any more. The writer looks in
// each of its transactions; a reader when another process was seen to commit, if the
// database was opened with a cache.
type schemaWatch struct {
	due atomic.Int64 // how often somebody was seen to commit since a reader looked
}

// selectSchema is of what the last migration has set, 0 in a file whose last one did
// not yet.
const selectSchema = "PRAGMA user_version"

// checkSchema returns an error, and fails the database, if its schema is a newer
// one.
func (db *DB) checkSchema(c *conn) error {
	has := 0
	_, err := c.one(selectSchema, func(row *sqlite.Stmt) { has = row.ColumnInt(0) })
	if err == nil && has > known.Latest() {
		err = known.Newer(has)
		db.fail(err)
	}
	return err
}

// othersCommitted has a reader look at the schema, so that reads end too if it is a
// newer one.
func (db *DB) othersCommitted() {
	if db.schema.due.Add(1) > 1 {
		return // who looks will look again
	}
	go func() {
		for seen := int64(1); ; seen = db.schema.due.Load() {
			_ = db.read(context.Background(), db.checkSchema) // what fails here fails the next read, which tells it
			if db.schema.due.CompareAndSwap(seen, 0) {
				return
			}
		}
	}()
}
