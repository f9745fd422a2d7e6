package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// pinned returns the settings that the statements rely on. Settings of the database's
// URL, of the role or of the database do not change them.
func pinned() map[string]string {
	return map[string]string{
		"search_path":                    schema,
		"default_transaction_isolation":  "read committed", // groups lock their rows, and see what others have committed since
		"default_transaction_deferrable": "off",
		"client_min_messages":            "notice", // see errUnconfirmed
		"standard_conforming_strings":    "on",
		"client_encoding":                "UTF8",
		"timezone":                       "UTC",
	}
}

// parameters returns the other settings of a session, which the database's URL may
// change. They end idle transactions, so that a node that was cut off does not keep its
// locks.
func parameters(u use) map[string]string {
	p := map[string]string{
		"application_name":                    "petstore",
		"default_transaction_read_only":       "off",
		"synchronous_commit":                  "on",
		"statement_timeout":                   "0",
		"lock_timeout":                        "0",
		"idle_in_transaction_session_timeout": "0",
		"idle_session_timeout":                "0",
		"transaction_timeout":                 "0",
	}
	if u == administering {
		return p
	}
	p["jit"], p["max_parallel_workers_per_gather"] = "off", "0" // starting them takes longer than most of our queries
	p["idle_in_transaction_session_timeout"] = millisText(groupTimeout)
	p["lock_timeout"] = millisText(lockTimeout)
	if u == writing {
		// All these statements select rows by key. Otherwise a plan that was made while
		// a table was small would be kept for minutes while the table grows.
		p["enable_seqscan"], p["enable_hashjoin"], p["enable_mergejoin"] = "off", "off", "off"
	}
	if u == reading { // if it ended a COMMIT that waits for the synchronous standby, the commit would look as if it had not waited
		p["statement_timeout"] = millisText(readTimeout)
	}
	return p
}

// setAll gives a session the settings $1, a JSON object. One that the server does not know is an
// error. One that has its value already is not set, since the role may not be allowed to.
const setAll = `SELECT set_config(key, value, false) FROM json_each_text($1) WHERE current_setting(key, true) IS DISTINCT FROM value
	AND (key <> 'transaction_timeout' OR current_setting(key, true) IS NOT NULL)` // it exists since PostgreSQL 17

// setUp has every connection of c begin with the settings of a use, and those of a node keep a
// [Target] out while they last. They are set when the connection is there, since poolers refuse
// them among the parameters that it begins with, and before it is validated: whether it takes
// writes depends on them.
func setUp(c *pgconn.Config, u use) {
	given := make(map[string]string)
	for name, value := range c.RuntimeParams {
		if name != "options" && name != "replication" { // these are not settings
			given[strings.ToLower(name)] = value
			delete(c.RuntimeParams, name)
		}
	}
	all := parameters(u)
	maps.Copy(all, given)
	maps.Copy(all, pinned())
	text, _ := json.Marshal(all) // never fails
	statement, validate := setAll, c.ValidateConnect
	if u != administering {
		statement += fmt.Sprintf(" UNION ALL SELECT pg_advisory_lock_shared(%d)::text", moveLock)
	}
	c.ValidateConnect = func(ctx context.Context, c *pgconn.PgConn) error {
		if _, err := c.ExecParams(ctx, statement, [][]byte{text}, nil, nil, nil).Close(); err != nil || validate == nil {
			return err
		}
		return validate(ctx, c)
	}
}

// errShared is returned for a connection pooler that does not keep a session for each
// connection.
var errShared = errors.New("the connection pooler in front of it shares sessions between connections; set pool_mode = session there, or name PostgreSQL's own address")

// poolerTries is how often two connections are compared. While others use the pooler
// too, two connections may get different sessions by chance.
const poolerTries = 20

// ownSessions returns errShared if a pooler assigns sessions for one transaction or
// statement only. The connections that it compares are not set up, since the settings
// could reach sessions of others.
func ownSessions(ctx context.Context, c *pgx.ConnConfig) error {
	bare := c.Copy()
	bare.ValidateConnect = nil
	if len(bare.Fallbacks) > 0 {
		bare.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsPrimary
	}
	one, err := pgx.ConnectConfig(ctx, bare)
	if err != nil {
		return err
	}
	defer one.Close(context.WithoutCancel(ctx))
	first, err := backend(ctx, one)
	if err != nil || first == one.PgConn().PID() { // nothing is in between
		return err
	}
	other, err := pgx.ConnectConfig(ctx, bare)
	if err != nil {
		return err
	}
	defer other.Close(context.WithoutCancel(ctx))
	for range poolerTries {
		theirs, err := backend(ctx, other)
		if err != nil {
			return err
		}
		ours, err := backend(ctx, one)
		if err != nil {
			return err
		}
		if ours != first || theirs == ours {
			return errShared
		}
	}
	return nil
}

// backend returns the process id of the server's session.
func backend(ctx context.Context, c *pgx.Conn) (pid uint32, err error) {
	err = c.QueryRow(ctx, "SELECT pg_backend_pid()", pgx.QueryExecModeExec).Scan(&pid)
	return pid, err
}

func millisText(d time.Duration) string { return fmt.Sprint(d.Milliseconds()) }
