package postgres

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// channel is the channel of NOTIFY on which nodes tell each other that access changed.
// That for feeds is feedChannel.
const channel = "petstore_access"

// listenAgain is the pause before the node listens again after its connection was lost.
const listenAgain = time.Second

// Follow calls changed soon after access has changed on any node, until ctx ends.
// Several changes may cause one call. A change that happens while the connection is lost
// causes none, so callers have to call [DB.Changes] now and then all the same. Follow
// listens on a connection of its own. It also runs [DB.Watch].
func (db *DB) Follow(ctx context.Context, changed func()) {
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { db.Watch(ctx) })
	news := make(chan struct{}, 1)
	running.Go(func() {
		defer close(news)
		db.keepListening(ctx, news)
	})
	for range news {
		changed()
	}
}

// signal puts a token into a channel of capacity one, unless one is there already.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// keepListening listens until ctx ends, on one connection after the other.
func (db *DB) keepListening(ctx context.Context, news chan<- struct{}) {
	for ctx.Err() == nil {
		if err := db.listen(ctx, news); ctx.Err() == nil {
			db.log.Warn("the connection that listens for changes of other nodes was lost", "database", db.name, "err", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(listenAgain):
		}
	}
}

// listen passes on the notifications of other nodes. It begins as if there had been
// one, since something may have changed before it listened.
func (db *DB) listen(ctx context.Context, news chan<- struct{}) error {
	c, err := pgx.ConnectConfig(ctx, db.writer.Config().ConnConfig)
	if err != nil {
		return err
	}
	defer c.Close(context.WithoutCancel(ctx))
	if _, err := c.Exec(ctx, "LISTEN "+channel+"; LISTEN "+feedChannel); err != nil {
		return err
	}
	signal(news)
	db.WakeAllReaders()
	for {
		n, err := c.WaitForNotification(ctx)
		switch {
		case err != nil:
			return err
		case n.Channel == feedChannel:
			db.onFeedMessage(n.Payload)
		default:
			signal(news)
		}
	}
}
