package postgres

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// channel is the name under which nodes tell each other that access changed; there is
// also feedChannel.
const channel = "petstore_access"

// listenAgain is the pause before a lost listener is replaced.
const listenAgain = time.Second

// Follow calls changed soon after a change of access on any node, after several changes
// maybe once, until ctx ends. It is a hint that [DB.Changes] has something to say, never
// the only one: who was not connected is not told, so call Changes now and then all the
// same. Follow listens on a connection of its own, and keeps Err true by [DB.Watch].
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

// tell leaves a token for the reader unless there is one.
func tell(news chan<- struct{}) {
	select {
	case news <- struct{}{}:
	default:
	}
}

// keepListening listens until ctx ends, on one connection after the other.
func (db *DB) keepListening(ctx context.Context, news chan<- struct{}) {
	for ctx.Err() == nil {
		if err := db.listen(ctx, news); ctx.Err() == nil {
			db.log.Warn("the listener for what other nodes change was lost", "database", db.name, "err", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(listenAgain):
		}
	}
}

// listen passes on what it hears. Something may have happened before it began.
func (db *DB) listen(ctx context.Context, news chan<- struct{}) error {
	c, err := pgx.ConnectConfig(ctx, db.writer.Config().ConnConfig)
	if err != nil {
		return err
	}
	defer c.Close(context.WithoutCancel(ctx))
	if _, err := c.Exec(ctx, "LISTEN "+channel+"; LISTEN "+feedChannel); err != nil {
		return err
	}
	tell(news)
	db.WakeAllReaders()
	for {
		n, err := c.WaitForNotification(ctx)
		switch {
		case err != nil:
			return err
		case n.Channel == feedChannel:
			db.onFeedMessage(n.Payload)
		default:
			tell(news)
		}
	}
}
