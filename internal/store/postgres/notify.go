package postgres

import (
	"context"
	"crypto/rand"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// feedChannel is the channel of NOTIFY on which nodes tell each other which workspaces
// have new events.
const feedChannel = "petstore_feeds"

const (
	notifyPause   = 5 * time.Millisecond // between the messages that a node sends at once
	notifyTimeout = time.Second          // for sending them, also when the node ends
)

// A feedNotifier collects the workspaces with new events, of which a node notifies the
// others.
type feedNotifier struct {
	node    string // names the sender in messages: a node gets its own messages too
	pending chan struct{}
	quit    chan struct{}

	mu    sync.Mutex
	feeds map[int64]bool // workspaces to send messages of
}

func newFeedNotifier() feedNotifier {
	return feedNotifier{node: rand.Text(), pending: make(chan struct{}, 1), quit: make(chan struct{}), feeds: make(map[int64]bool)}
}

// written wakes the readers of a workspace's feed on this node, and has other nodes do
// so too.
func (db *DB) written(workspace int64) {
	db.WakeReaders(workspace)
	n := &db.notifier
	n.mu.Lock()
	n.feeds[workspace] = true
	n.mu.Unlock()
	select {
	case n.pending <- struct{}{}:
	default: // a message is pending already
	}
}

// take returns the workspaces to send messages of, and forgets them.
func (n *feedNotifier) take() []int64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	defer clear(n.feeds)
	return slices.Collect(maps.Keys(n.feeds))
}

// notifyOthers notifies other nodes of this one's new events until the DB is closed. A
// node that misses a message still looks every few seconds.
func (db *DB) notifyOthers() {
	for ended := false; !ended; {
		select {
		case <-db.notifier.pending:
		case <-db.notifier.quit:
			ended = true
		}
		if feeds := db.notifier.take(); len(feeds) > 0 {
			ctx, cancel := context.WithTimeout(context.Background(), notifyTimeout)
			_, _ = db.writer.Exec(ctx, "SELECT pg_notify($1, $2::text || ' ' || w) FROM unnest($3::bigint[]) w", feedChannel, db.notifier.node, feeds)
			cancel()
			time.Sleep(notifyPause)
		}
	}
}

// onFeedMessage wakes the readers of a feed that another node has written to. A message
// consists of the node's name and the workspace; without a workspace it means all of them.
func (db *DB) onFeedMessage(message string) {
	node, text, _ := strings.Cut(message, " ")
	if node == db.notifier.node {
		return
	}
	if workspace, err := strconv.ParseInt(text, 10, 64); err == nil {
		db.WakeReaders(workspace)
	} else {
		db.WakeAllReaders()
	}
}
