package store

import (
	"context"
	"time"
)

// dated are the tables whose rows tell when something happened, each with that instant
// in Unix milliseconds. A database of an older version may lack some.
var dated = [...]struct{ table, at string }{
	{"movements", "at"},
	{"audit", "at"},
	{"bans", "begins_at"},
	{"limit_windows", "minute_start"},
	{"usage", "start * 1000"},
	{"key_days", "day * 1000"},
	{"console_sessions", "started_at"},
}

// Newest returns the latest instant that a row names, the zero time if none does.
// hasTable is the query that has a row if the table $1 exists.
func Newest(tx Tx, hasTable string) (latest time.Time, err error) {
	for _, d := range dated {
		there, err := one(tx, hasTable, func(Row) error { return nil }, d.table)
		at := int64(0)
		if err == nil && there {
			_, err = one(tx, "SELECT coalesce(max("+d.at+"), 0) FROM "+d.table, func(row Row) error { return row.Scan(&at) })
		}
		if err != nil {
			return latest, err
		}
		if at := instant(at); at.After(latest) {
			latest = at
		}
	}
	return latest, nil
}

// OrphanRows returns how many sessions of keys, and rows of use, are of keys and
// workspaces that do not exist. What is saved late of a workspace that was just
// deleted does not count: it is removed in time.
func (s *Store) OrphanRows(ctx context.Context) (n int64, err error) {
	err = s.db.Read(ctx, func(tx Tx) error {
		_, err := one(tx, `SELECT (SELECT count(*) FROM console_sessions WHERE key_id <> '' AND key_id NOT IN (SELECT id FROM api_keys)) +
			(SELECT count(*) FROM usage WHERE workspace NOT IN (SELECT id FROM workspaces UNION ALL SELECT workspace FROM removals))`,
			func(row Row) error { return row.Scan(&n) })
		return err
	})
	return n, err
}
