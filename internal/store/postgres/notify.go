package postgres

import (
	"context"
	"crypto/rand"
	"strconv"
	"strings"
	"sync"
	"time"
)

// feedChannel is the name under which nodes tell each other whose feeds have grown.
const feedChannel = "petstore_feeds"

const (
	notifyPause   = 5 * time.Millisecond // between two messages of a node
	messageLength = 4000                 // bytes of a message at most, of PostgreSQL's 8,000
	notifyTimeout = time.Second          // for sending a message, also when the node ends
)

// A feedNotifier holds what a node has to tell the others: whose feeds have grown.
type feedNotifier struct {
	node    string // the sender in messages: a node hears its own, too
	pending chan struct{}
	quit    chan struct{}

	mu    sync.Mutex
	feeds map[int64]bool // workspaces that the next message names

	// When this node sent its last message, and the oldest one that it has not heard
	// itself; 0 if it has heard all. In nanoseconds of its own clock.
	sent, unacknowledged int64
}

func newFeedNotifier() feedNotifier {
	return feedNotifier{node: rand.Text(), pending: make(chan struct{}, 1), quit: make(chan struct{}), feeds: make(map[int64]bool)}
}

// written wakes those who wait for what was committed just now, on other nodes too.
func (db *DB) written(workspace int64) {
	db.Ring(workspace)
	n := &db.notifier
	n.mu.Lock()
	n.feeds[workspace] = true
	n.mu.Unlock()
	tell(n.pending)
}

// message returns the next message to send, "" if there is none, and when it is sent. It
// has the node, the time and the workspaces; without workspaces it means all of them.
func (n *feedNotifier) message() (message string, sent int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.feeds) == 0 {
		return "", 0
	}
	n.sent = time.Now().UnixNano()
	if n.unacknowledged == 0 {
		n.unacknowledged = n.sent
	}
	head := n.node + " " + strconv.FormatInt(n.sent, 10)
	var b strings.Builder
	b.WriteString(head)
	for workspace := range n.feeds {
		b.WriteString(" " + strconv.FormatInt(workspace, 10))
	}
	clear(n.feeds)
	if b.Len() > messageLength {
		return head, n.sent
	}
	return b.String(), n.sent
}

// acknowledged notes that no message up to the one of that time is on its way any more.
func (n *feedNotifier) acknowledged(sent int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.unacknowledged = sent; sent >= n.sent {
		n.unacknowledged = 0
	}
}

// lag returns for how long a message of this node to itself has been on its way.
func (n *feedNotifier) lag() time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.unacknowledged == 0 {
		return 0
	}
	return max(time.Duration(time.Now().UnixNano()-n.unacknowledged), 0)
}

// notifyOthers tells other nodes what this one has committed, until it ends. A node that
// misses a message looks every few seconds all the same.
func (db *DB) notifyOthers() {
	for ended := false; !ended; {
		select {
		case <-db.notifier.pending:
		case <-db.notifier.quit:
			ended = true
		}
		if message, sent := db.notifier.message(); message != "" {
			ctx, cancel := context.WithTimeout(context.Background(), notifyTimeout)
			if _, err := db.writer.Exec(ctx, "SELECT pg_notify($1, $2)", feedChannel, message); err != nil {
				db.notifier.acknowledged(sent) // nobody will hear it
			}
			cancel()
			time.Sleep(notifyPause)
		}
	}
}

// onFeedMessage wakes those who wait for what another node has written.
func (db *DB) onFeedMessage(message string) {
	fields := strings.Fields(message)
	if len(fields) < 2 {
		return
	}
	if fields[0] == db.notifier.node {
		sent, _ := strconv.ParseInt(fields[1], 10, 64) // this node wrote it
		db.notifier.acknowledged(sent)
		return
	}
	if len(fields) == 2 {
		db.RingAll()
	}
	for _, text := range fields[2:] {
		if workspace, err := strconv.ParseInt(text, 10, 64); err == nil {
			db.Ring(workspace)
		}
	}
}
