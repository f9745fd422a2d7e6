package store

import (
	"context"
	"time"
)

// newest selects the latest instant that a row names, of the tables whose rows tell when
// something happened.
const newest = `SELECT coalesce(max(at), 0) FROM (SELECT max(at) AS at FROM movements UNION ALL SELECT max(at) FROM audit
	UNION ALL SELECT max(begins_at) FROM bans UNION ALL SELECT max(minute_start) FROM limit_windows UNION ALL SELECT max(start) * 1000 FROM usage
	UNION ALL SELECT max(day) * 1000 FROM key_days UNION ALL SELECT max(started_at) FROM console_sessions) AS dated`

// Newest returns the latest instant that a row names, the zero time if none does.
func Newest(tx Tx) (time.Time, error) {
	at, err := number(tx, newest)
	return instant(at), err
}

// OrphanRows returns how many sessions of keys, and rows of use, are of keys and
// workspaces that do not exist. What is saved late of a workspace that was just
// deleted does not count: it is removed in time.
func (s *Store) OrphanRows(ctx context.Context) (n int64, err error) {
	return s.count(ctx, `SELECT (SELECT count(*) FROM console_sessions WHERE key_id <> '' AND key_id NOT IN (SELECT id FROM api_keys)) +
		(SELECT count(*) FROM usage WHERE workspace NOT IN (SELECT id FROM workspaces UNION ALL SELECT workspace FROM removals))`)
}
