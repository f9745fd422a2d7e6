package postgres

import (
	"context"
	"strconv"
	"strings"
	"time"
)

const (
	notifyPause   = 5 * time.Millisecond // between the messages that a node sends at once
	notifyTimeout = time.Second          // for sending them, also when the node ends
	notifyWaiting = 4096                 // workspaces of which a message waits; of more there is none
)

// written wakes the readers of a workspace's feed on this node, and has other nodes do
// so too.
func (db *DB) written(workspace int64) {
	db.WakeReaders(workspace)
	select {
	case db.feeds <- workspace:
	default:
	}
}

// notifyOthers notifies other nodes of this one's new events until the DB is closed. A
// node that misses a message still looks every few seconds. The server drops messages
// that repeat others.
func (db *DB) notifyOthers() {
	for ended := false; !ended; {
		var feeds []int64
		select {
		case workspace := <-db.feeds:
			feeds = append(feeds, workspace)
		case <-db.quit:
			ended = true
		}
		for len(db.feeds) > 0 {
			feeds = append(feeds, <-db.feeds)
		}
		if len(feeds) > 0 {
			ctx, cancel := context.WithTimeout(context.Background(), notifyTimeout)
			_, _ = db.writer.Exec(ctx, "SELECT pg_notify($1, $2::text || ' ' || w) FROM unnest($3::bigint[]) w", channel, db.node, feeds)
			cancel()
			time.Sleep(notifyPause)
		}
	}
}

// onFeedMessage wakes the readers of a feed that another node has written to. A message
// consists of the node's name and the workspace; without a workspace it means all of them.
func (db *DB) onFeedMessage(message string) {
	node, text, _ := strings.Cut(message, " ")
	if node == db.node {
		return
	}
	if workspace, err := strconv.ParseInt(text, 10, 64); err == nil {
		db.WakeReaders(workspace)
	} else {
		db.WakeAllReaders()
	}
}
