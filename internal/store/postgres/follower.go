package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// channel is the channel of NOTIFY on which nodes tell each other that access changed.
// That for feeds is feedChannel.
const channel = "petstore_access"

// listenAgain is the pause before the node listens again after its connection was lost.
const listenAgain = time.Second

// Follow calls changed soon after access has changed on any node, until ctx ends. A change
// that happens while the connection is lost causes no call, so callers have to look
// for themselves now and then. Follow listens on one connection of its own after
// the other.
func (db *DB) Follow(ctx context.Context, changed func()) {
	for ctx.Err() == nil {
		if err := db.listen(ctx, changed); ctx.Err() == nil {
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
	c, err := pgx.ConnectConfig(ctx, db.writer.Config().ConnConfig)
	if err != nil {
		return err
	}
	defer c.Close(context.WithoutCancel(ctx))
	if _, err := c.Exec(ctx, "LISTEN "+channel+"; LISTEN "+feedChannel); err != nil {
		return err
	}
	changed()
	db.WakeAllReaders()
	for {
		n, err := c.WaitForNotification(ctx)
		switch {
		case err != nil:
			return err
		case n.Channel == feedChannel:
			db.onFeedMessage(n.Payload)
		default:
			changed()
		}
	}
}
