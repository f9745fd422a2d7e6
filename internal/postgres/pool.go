package postgres

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// How long the parts of a call may take, so that no request hangs.
const (
	connectTimeout = 3 * time.Second
	lockTimeout    = 4 * time.Second  // of a statement that waits for another node's transaction
	groupTimeout   = 10 * time.Second // of a group of writes, its retries included
	readTimeout    = 10 * time.Second
)

// A use is what the connections of a pool are for.
type use int

const (
	writing use = iota
	issuing
	reading
	administering // migrations and checks, which may take long
)

// warned is the key of a connection's custom data under which the server's
// latest warning is kept.
const warned = "petstore.warned"

// parameters returns the settings of a session. Sleeping transactions of a node that
// was cut off do not keep their locks.
func parameters(u use) map[string]string {
	p := map[string]string{
		"application_name": "petstore",
		"search_path":      schema,
	}
	if u == administering {
		return p
	}
	p["jit"], p["max_parallel_workers_per_gather"] = "off", "0" // to begin with them takes longer than most of our queries
	p["idle_in_transaction_session_timeout"] = millisText(groupTimeout)
	p["lock_timeout"] = millisText(lockTimeout)
	if u == writing || u == issuing {
		// All name their rows by key, and issuing locks them in that order. A plan that
		// was made while a table was small would be kept for minutes while that grows.
		p["enable_seqscan"], p["enable_hashjoin"], p["enable_mergejoin"] = "off", "off", "off"
	}
	switch u {
	case writing:
		// No statement_timeout: one that ends a COMMIT which waits for its
		// synchronous standby would make it look as if it had not waited.
		p["synchronous_commit"] = "on"
	case issuing:
		// An id is used by a later commit alone, which takes this one along to
		// the disk: waiting for it here would be waiting twice.
		p["synchronous_commit"] = "off"
		p["statement_timeout"] = millisText(lockTimeout)
	case reading:
		p["statement_timeout"] = millisText(readTimeout)
	}
	return p
}

func millisText(d time.Duration) string { return fmt.Sprint(d.Milliseconds()) }

// CheckURL returns an error if url cannot be that of a database. It asks no server,
// and the error tells no password.
func CheckURL(url string) error {
	_, err := pgxpool.ParseConfig(url) // which leaves the password out
	return err
}

// describe returns how the database at url is called in messages.
func describe(url string) (string, error) {
	c, err := pgconn.ParseConfig(url)
	if err != nil {
		return "", fmt.Errorf("the database's URL: %w", err) // pgconn leaves the password out
	}
	hosts := []string{fmt.Sprintf("%s:%d", c.Host, c.Port)}
	for _, f := range c.Fallbacks {
		host := fmt.Sprintf("%s:%d", f.Host, f.Port)
		if hosts[len(hosts)-1] != host { // the same once with and once without TLS
			hosts = append(hosts, host)
		}
	}
	return c.Database + " on " + strings.Join(hosts, ", "), nil
}

// configure prepares the connections of a use.
func configure(c *pgx.ConnConfig, u use) {
	for name, value := range parameters(u) {
		if _, set := c.RuntimeParams[name]; !set || name == "search_path" {
			c.RuntimeParams[name] = value
		}
	}
	if c.ConnectTimeout == 0 || c.ConnectTimeout > connectTimeout {
		c.ConnectTimeout = connectTimeout
	}
	// Several hosts are the nodes of one cluster: only one of them takes writes,
	// and only that one surely has what was just written.
	if len(c.Fallbacks) > 0 && c.ValidateConnect == nil {
		switch u {
		case reading:
			c.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsPrimary
		case writing, issuing, administering:
			c.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
		}
	}
	c.StatementCacheCapacity = 256
	c.OnNotice = func(conn *pgconn.PgConn, n *pgconn.Notice) {
		if n.SeverityUnlocalized == "WARNING" {
			conn.CustomData()[warned] = n.Message
		}
	}
}

// openPool returns a pool that connects when it is used.
func openPool(ctx context.Context, url string, u use, size int) (*pgxpool.Pool, error) {
	c, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	configure(c.ConnConfig, u)
	c.MaxConns = int32(size)
	c.MaxConnLifetimeJitter = 10 * time.Minute
	c.PingTimeout = connectTimeout
	return pgxpool.NewWithConfig(ctx, c)
}

// connect returns a connection of its own for a use.
func connect(ctx context.Context, url string, u use) (*pgx.Conn, error) {
	c, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	configure(c, u)
	return pgx.ConnectConfig(ctx, c)
}
