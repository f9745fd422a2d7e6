package postgres

import (
	"context"
	"crypto/rand"
	"strconv"
	"strings"
	"sync"
	"time"
)

// feedChannel is the channel of NOTIFY on which nodes tell each other which workspaces
// have new events.
const feedChannel = "petstore_feeds"

const (
	notifyPause   = 5 * time.Millisecond // between two messages of a node
	mostFeeds     = 400                  // in a message, which has 8,000 bytes at most
	notifyTimeout = time.Second          // for sending a message, also when the node ends
)

// A feedNotifier collects the workspaces with new events, of which a node notifies the
// others.
type feedNotifier struct {
	node    string // names the sender in messages: a node gets its own messages too
	pending chan struct{}
	quit    chan struct{}

	mu    sync.Mutex
	feeds map[int64]bool // workspaces that the next message names
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
	signal(n.pending)
}

// message returns the next message to send, "" if there is none. It consists of the
// node's name and the workspaces; without workspaces it means all of them.
func (n *feedNotifier) message() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.feeds) == 0 {
		return ""
	}
	message := n.node
	if len(n.feeds) <= mostFeeds {
		for workspace := range n.feeds {
			message += " " + strconv.FormatInt(workspace, 10)
		}
	}
	clear(n.feeds)
	return message
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
		if message := db.notifier.message(); message != "" {
			ctx, cancel := context.WithTimeout(context.Background(), notifyTimeout)
			_, _ = db.writer.Exec(ctx, "SELECT pg_notify($1, $2)", feedChannel, message)
			cancel()
			time.Sleep(notifyPause)
		}
	}
}

// onFeedMessage wakes the readers of the feeds that another node has written to.
func (db *DB) onFeedMessage(message string) {
	fields := strings.Fields(message)
	if len(fields) == 0 || fields[0] == db.notifier.node {
		return // this node wrote it
	}
	if len(fields) == 1 {
		db.WakeAllReaders()
	}
	for _, text := range fields[1:] {
		if workspace, err := strconv.ParseInt(text, 10, 64); err == nil {
			db.WakeReaders(workspace)
		}
	}
}
