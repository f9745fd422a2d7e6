package postgres

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store"
	"github.com/jackc/pgx/v5"
)

// A history is the sequence of changes that a database has seen. A recovery to a point in
// time and a promotion begin another one, with a greater timeline of the write-ahead log
// than all before; a restored dump is another table in another database, maybe of another
// cluster. Commits at the end of the former history may be lost, though clients know
// their ids.
//
// selectHistory selects whether the server is a replica, the name of the history that the
// session writes to, and the name of the history that was last written to, which the
// database keeps itself.
const selectHistory = `SELECT pg_is_in_recovery(),
	CASE WHEN pg_is_in_recovery() THEN '' ELSE concat_ws(' ', substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8),
		(SELECT system_identifier FROM pg_control_system()), (SELECT oid FROM pg_database WHERE datname = current_database()), 'petstore.meta'::regclass::oid) END,
	coalesce((SELECT convert_from(value, 'UTF8') FROM meta WHERE name = 'history'), '')`

// continueHistory is called with each new connection before it writes. If the database
// has changed to another history, it may have lost commits: all ids skip ahead, and all
// feeds say workspace.reset. A change of history without a loss, as in the promotion of a
// synchronous standby, cannot be told apart. For a replica it returns errReplica.
func continueHistory(ctx context.Context, c *pgx.Conn, now func() time.Time, log *slog.Logger) error {
	current, kept, err := historyOf(ctx, c)
	if err != nil || current == kept {
		return err
	}
	return pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
		x := sqlTx{ctx, tx}
		if _, err := x.Exec("SELECT set_config('lock_timeout', '0', true), pg_advisory_xact_lock($1)", accessLock); err != nil { // it waits for all writes under way
			return err
		}
		if current, kept, err = historyOf(ctx, tx); err != nil || current == kept { // another session was faster
			return err
		}
		if kept != "" {
			log.Warn("the database was recovered, promoted or restored, and changes may be lost: all ids skip ahead, and all feeds say workspace.reset", "was", kept, "is", current)
			if err := raiseIDs(x, petstore.At(now()), current); err != nil {
				return err
			}
		}
		return store.SetMeta(x, "history", []byte(current))
	})
}

func historyOf(ctx context.Context, c querier) (current, kept string, err error) {
	var replica bool
	err = c.QueryRow(ctx, selectHistory).Scan(&replica, &current, &kept)
	if err == nil && replica {
		err = errReplica
	}
	return current, kept, err
}

// raiseIDs raises the ids, and notifies all nodes. The timeline counts how often the
// database was recovered or promoted, if the servers archived to one place. It does not
// count dumps that were restored.
func raiseIDs(x sqlTx, now petstore.Time, history string) error {
	timeline, _, _ := strings.Cut(history, " ")
	n, err := strconv.ParseInt(timeline, 16, 64)
	if err != nil {
		return err
	}
	if err := store.Restored(x, &dialect, now, max(n-1, 1), max(n-1, 1)); err != nil {
		return err
	}
	_, err = x.Exec("SELECT pg_notify($1, ''), pg_notify($1, 'history')", channel) // of all workspaces, see onFeedMessage
	return err
}
