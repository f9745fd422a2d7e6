package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// channel is the channel of NOTIFY on which nodes tell each other that access changed, by an
// empty message, and of new events, see onFeedMessage.
const channel = "petstore"

const (
	listenAgain  = time.Second     // the pause before the node listens again after its connection was lost
	probeAfter   = time.Second     // how long there is no notification before the node asks whether the database answers
	probeTimeout = 2 * time.Second // how long it waits for the answer
)

// Follow calls changed soon after access has changed on any node, until ctx ends. A change
// that happens while the connection is lost causes no call, so callers have to look
// for themselves now and then. Follow listens on one connection of its own after
// the other. It also keeps Err current.
func (db *DB) Follow(ctx context.Context, changed func()) {
	for ctx.Err() == nil {
		if err := db.listen(ctx, changed); ctx.Err() == nil && db.Err() == nil {
			db.log.Warn("the connection that listens for changes of other nodes was lost", "database", db.name, "err", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(listenAgain):
		}
	}
}

// listen passes on the notifications of all nodes. It begins as if there had been
// one, since something may have changed before it listened.
func (db *DB) listen(ctx context.Context, changed func()) error {
	c, err := db.openListener(ctx)
	if ctx.Err() == nil {
		db.note(err)
	}
	if err != nil {
		return err
	}
	defer c.Close(context.WithoutCancel(ctx))
	changed()
	db.WakeAllReaders()
	for {
		n, err := db.nextNotification(ctx, c)
		switch {
		case err != nil:
			return err
		case n == nil:
		case n.Payload == "":
			changed()
		default:
			db.onFeedMessage(n.Payload)
		}
	}
}

// openListener returns a connection that listens to all nodes. It is an error if nothing
// can be written through it.
func (db *DB) openListener(ctx context.Context) (*pgx.Conn, error) {
	c, err := pgx.ConnectConfig(ctx, db.writer.Config().ConnConfig)
	if err != nil {
		return nil, err
	}
	starting, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	if err = continueHistory(starting, c, db.now, db.log); err == nil {
		_, err = c.Exec(starting, "LISTEN "+channel)
	}
	if err != nil {
		_ = c.Close(context.WithoutCancel(ctx)) // the first failure is what counts
		return nil, err
	}
	return c, nil
}

// nextNotification returns the next notification, or nil if there is none for a while and
// the database answers. If it does not answer, that is noted. A connection that was lost
// is not noted: an administrator may have ended it, and another one may succeed.
func (db *DB) nextNotification(ctx context.Context, c *pgx.Conn) (*pgconn.Notification, error) {
	waiting, cancel := context.WithTimeout(ctx, probeAfter)
	defer cancel()
	n, err := c.WaitForNotification(waiting)
	if err == nil || waiting.Err() == nil || ctx.Err() != nil || c.IsClosed() {
		return n, err
	}
	probing, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	if err = c.Ping(probing); err != nil && probing.Err() != nil && ctx.Err() == nil {
		db.note(err)
	}
	return nil, err
}

// errReplica is returned for a server that answers, but takes no writes.
var errReplica = errors.New("the server is a replica, and takes no writes")

// Err returns why nothing can be written now, or nil, as [DB.Follow] has found last. It
// does not ask the database.
func (db *DB) Err() error {
	if err := db.trouble.Load(); err != nil {
		return *err
	}
	return nil
}

// note keeps for Err whether the database can be reached, and logs when that changes.
func (db *DB) note(err error) {
	switch was := db.Err(); {
	case was == nil && err != nil:
		db.log.Error("the database cannot be reached", "database", db.name, "err", err)
	case was != nil && err == nil:
		db.log.Info("the database can be reached again", "database", db.name)
	}
	if err == nil {
		db.trouble.Store(nil)
		return
	}
	err = toClientError(err)
	db.trouble.Store(&err)
}
