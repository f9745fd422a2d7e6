package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/petstore/internal/store"
	"github.com/jackc/pgx/v5"
)

// moveLock is the key of the advisory lock that a process holds while it fills a database.
// Each session of a node shares it.
const moveLock int64 = 0x5045_5453_0000_0003

// A Target is a transaction of a database that is filled: see [store.MoveTarget]. One
// goroutine at a time uses it.
type Target struct{ migrated }

// OpenTarget migrates the database at url, as Open does, and keeps nodes and other
// processes that would fill it out until Close. It returns an error while a node is
// connected.
func OpenTarget(ctx context.Context, url string, now func() time.Time) (*Target, error) {
	name, err := describe(url)
	if err != nil {
		return nil, err
	}
	c, err := connect(ctx, url, administering)
	if err != nil {
		return nil, fmt.Errorf("database %s: %w", name, err)
	}
	t := &Target{migrated{sqlTx{ctx, c}, c}}
	_, err = known.Up(t, now)
	if err == nil {
		err = t.lockExclusively()
	}
	if err == nil {
		err = t.Script("BEGIN; DELETE FROM meta; DELETE FROM access_state") // which a new database has, too
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("database %s: %w", name, err), t.Close(ctx))
	}
	return t, nil
}

// Close rolls back a transaction that is not committed, gives back the lock, and disconnects.
func (t *Target) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), connectTimeout)
	defer cancel()
	// The server also does this when it notices the end of the connection, perhaps after the next command has begun.
	_, _ = t.conn.PgConn().Exec(ctx, "ROLLBACK; SELECT pg_advisory_unlock_all()").ReadAll()
	return t.conn.Close(ctx)
}

// tryMoveLock asks for the lock for five seconds. It does not wait for it: new sessions of nodes
// would then wait, too.
const tryMoveLock = `DO $$ BEGIN
	FOR n IN 1..50 LOOP
		IF pg_try_advisory_lock(%d) THEN RETURN; END IF;
		PERFORM pg_sleep(0.1);
	END LOOP;
	RAISE lock_not_available;
END $$`

// lockExclusively returns an error if a node or another Target uses the database. It
// first waits a moment, since the sessions of a process that was killed may not have
// ended yet.
func (t *Target) lockExclusively() error {
	err := t.Script(fmt.Sprintf(tryMoveLock, moveLock))
	if state(err) == stateLockNotAvailable {
		err = errors.New("is in use: stop the nodes and the migrate-store that are connected to it first")
	}
	return err
}

// Tables implements [store.MoveTarget].
func (t *Target) Tables() ([]store.MovedTable, error) {
	rows, err := t.querier.Query(t.ctx, `SELECT r.relname::text, array_agg(a.attname::text ORDER BY a.attnum), array_agg(a.atttypid = 'boolean'::regtype ORDER BY a.attnum)
		FROM pg_class r JOIN pg_attribute a ON a.attrelid = r.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' AND a.attname <> 'only_one'
		WHERE r.relnamespace = $1::text::regnamespace AND r.relkind IN ('r', 'p') AND NOT r.relispartition AND r.relname <> 'migrations'
		GROUP BY r.relname ORDER BY r.relname`, schema)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[store.MovedTable])
}

// Fill implements [store.MoveTarget]: it inserts the rows by COPY.
func (t *Target) Fill(table *store.MovedTable, next func() ([]any, error)) (int64, error) {
	return t.CopyFrom(t.ctx, pgx.Identifier{schema, table.Name}, table.Columns, pgx.CopyFromFunc(next))
}

// ContinueIDs implements [store.MoveTarget].
func (t *Target) ContinueIDs(last map[string]int64) error {
	var b store.Batch
	for table, id := range last {
		b.Exec("SELECT setval(pg_get_serial_sequence($1, 'id'), $2)", table, id)
	}
	return t.Run(&b)
}

// Commit implements [store.MoveTarget]. The end of the context does not stop it.
func (t *Target) Commit() error {
	t.ctx = context.WithoutCancel(t.ctx)
	if _, err := t.Exec("COMMIT"); err != nil {
		return err
	}
	_, _ = dialect.Tidy(t) // if this fails, autovacuum does so a minute later
	return nil
}

// refuseFilling returns an error while a Target fills the database.
func refuseFilling(ctx context.Context, c querier) error {
	var free bool
	err := c.QueryRow(ctx, "SELECT pg_try_advisory_lock_shared($1)", moveLock).Scan(&free)
	if err == nil && !free {
		err = errors.New("is being filled by petstore migrate-store; start again when that has ended")
	}
	return err
}
