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

// The longest that the parts of a call may take, so that no request hangs.
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
	reading
	administering // migrations and checks, which may take long
)

// warningKey is the key of a connection's custom data under which the server's
// latest warning is kept.
const warningKey = "petstore.warned"

// CheckURL returns an error if url cannot be that of a database. It connects to no
// server, and the error does not contain the password.
func CheckURL(url string) error {
	_, err := pgxpool.ParseConfig(url) // its error leaves the password out
	return err
}

// describe returns the name of the database at url for messages.
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
	if c.ConnectTimeout == 0 || c.ConnectTimeout > connectTimeout {
		c.ConnectTimeout = connectTimeout
	}
	// Several hosts are the servers of one cluster. Only the primary takes writes, and
	// only it is sure to have what was just written.
	if len(c.Fallbacks) > 0 && c.ValidateConnect == nil {
		c.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsPrimary
	}
	setUp(&c.Config, u)
	c.StatementCacheCapacity = 256
	c.OnNotice = func(conn *pgconn.PgConn, n *pgconn.Notice) {
		if n.SeverityUnlocalized == "WARNING" {
			conn.CustomData()[warningKey] = n.Message
		}
	}
}

// openPool returns a pool, which connects when it is used. Each new connection that may
// write calls continueHistory first.
func (db *DB) openPool(ctx context.Context, u use, size int) (*pgxpool.Pool, error) {
	c, err := pgxpool.ParseConfig(db.url)
	if err != nil {
		return nil, err
	}
	configure(c.ConnConfig, u)
	if u != reading {
		c.AfterConnect = func(ctx context.Context, c *pgx.Conn) error { return continueHistory(ctx, c, db.now, db.log) }
	}
	c.MaxConns = int32(size)
	c.MaxConnLifetimeJitter = 10 * time.Minute
	c.PingTimeout = connectTimeout
	return pgxpool.NewWithConfig(ctx, c)
}

// connect returns a connection outside of the pools. It is an error if a pooler shares
// sessions between connections.
func connect(ctx context.Context, url string, u use) (*pgx.Conn, error) {
	c, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	configure(c, u)
	if err := ownSessions(ctx, c); err != nil {
		return nil, err
	}
	return pgx.ConnectConfig(ctx, c)
}
