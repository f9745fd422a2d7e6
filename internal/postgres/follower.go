package postgres

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// channel is the name under which nodes tell each other that access changed; there is
// also feedChannel.
const channel = "petstore_access"

// listenAgain is the pause before a lost listener is replaced.
const listenAgain = time.Second

// A follower listens for changes of access of all nodes.
type follower struct {
	mu     sync.Mutex
	news   chan struct{}
	stop   context.CancelFunc
	closed bool
}

// Notify returns a channel that receives soon after a change of access on any
// node, several changes maybe once. It is a hint that [DB.Changes] has
// something to say, never the only one: who was not connected is not told, so
// call Changes now and then all the same. All calls return the same channel;
// the first one begins to listen, on a connection of its own.
func (db *DB) Notify() <-chan struct{} {
	f := &db.follower
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.news == nil {
		f.news = make(chan struct{}, 1)
		ctx, stop := context.WithCancel(context.Background())
		if f.stop = stop; f.closed {
			stop()
		}
		db.running.Go(func() { db.follow(ctx) })
	}
	return f.news
}

func (f *follower) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	if f.stop != nil {
		f.stop()
	}
}

// tell leaves a token for the reader unless there is one.
func (f *follower) tell() {
	select {
	case f.news <- struct{}{}:
	default:
	}
}

// follow listens until ctx ends, on one connection after the other.
func (db *DB) follow(ctx context.Context) {
	for ctx.Err() == nil {
		err := db.listen(ctx)
		if ctx.Err() != nil {
			return
		}
		db.log.Warn("the listener for what other nodes change was lost", "database", db.name, "err", err)
		select {
		case <-ctx.Done():
		case <-time.After(listenAgain):
		}
	}
}

// listen passes on what it hears. Something may have happened before it began.
func (db *DB) listen(ctx context.Context) error {
	c, err := pgx.ConnectConfig(ctx, db.writer.Config().ConnConfig)
	if err != nil {
		return err
	}
	defer c.Close(context.WithoutCancel(ctx))
	if _, err := c.Exec(ctx, "LISTEN "+channel+"; LISTEN "+feedChannel); err != nil {
		return err
	}
	db.follower.tell()
	db.RingAll()
	db.growth.heard(math.MaxInt64) // what was sent before is lost
	for {
		n, err := c.WaitForNotification(ctx)
		switch {
		case err != nil:
			return err
		case n.Channel == feedChannel:
			db.hearGrowth(n.Payload)
		default:
			db.follower.tell()
		}
	}
}
