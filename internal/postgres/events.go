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

	"github.com/jackc/pgx/v5"

	"example.com/petstore/internal/feed"
)

var _ feed.Store = (*DB)(nil)

// The statements that write events. Feeds are raised in the order of the workspaces, and
// stay locked until the commit: so nobody sees an id before all smaller ones. They must
// be the last statements of their transaction that can wait.
const (
	raiseFeed = `INSERT INTO feeds (workspace, last, forgotten) VALUES ($1, $2, 0)
		ON CONFLICT (workspace) DO UPDATE SET last = greatest(feeds.last, feeds.forgotten) + excluded.last`

	// insertEvent gives an event the id that is $2 before the last.
	insertEvent = `INSERT INTO events (workspace, id, at, type, request, data, previous)
		VALUES ($1, (SELECT last FROM feeds WHERE workspace = $1) - $2, $3, $4, $5, $6, $7)`
)

// addEvents notes the events of a member that has its ids.
func (g *group) addEvents(m *member) {
	workspace := m.Job.change.Workspace
	if events := m.effects.Events(g.now, m.Job.change.RequestID); len(events) > 0 {
		g.events[workspace] = append(g.events[workspace], events...)
	}
}

// queueEvents queues the statements that write the events of the group.
func (g *group) queueEvents(b *pgx.Batch) {
	for _, workspace := range slices.Sorted(maps.Keys(g.events)) {
		events := g.events[workspace]
		b.Queue(raiseFeed, workspace, len(events))
		for i := range events {
			e := &events[i]
			b.Queue(insertEvent, workspace, len(events)-1-i, e.CreatedAt.Millis, string(e.Type), e.RequestID, string(e.Data), string(e.Previous))
		}
	}
}

// feedChannel is the name under which nodes tell each other whose feeds have grown.
const feedChannel = "petstore_feeds"

// Between two messages of a node is so much time at least, one has so many bytes at
// most (PostgreSQL takes 8,000), and a node that ends waits for its last one so long.
const (
	growthPause   = 5 * time.Millisecond
	growthLength  = 4000
	growthTimeout = time.Second
)

// growth is what a node has to tell others of feeds.
type growth struct {
	node string // which hears its own messages too
	news chan struct{}
	quit chan struct{}

	mu    sync.Mutex
	feeds map[int64]bool

	// When the last message was sent, and when the oldest was that this node has not
	// heard itself; 0 if it has heard all. In nanoseconds of its own clock.
	sent, unheard int64
}

func newGrowth() growth {
	return growth{node: rand.Text(), news: make(chan struct{}, 1), quit: make(chan struct{}), feeds: make(map[int64]bool)}
}

// written wakes those who wait for what was committed just now, on other nodes too.
func (db *DB) written(workspace int64) {
	db.Ring(workspace)
	g := &db.growth
	g.mu.Lock()
	g.feeds[workspace] = true
	g.mu.Unlock()
	tell(g.news)
}

// take returns the message, and forgets what it says: the node, when it was sent, and the
// workspaces, or none of them, which stands for all. It is empty if there is nothing to
// say.
func (g *growth) take() (message string, sent int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.feeds) == 0 {
		return "", 0
	}
	g.sent = time.Now().UnixNano()
	if g.unheard == 0 {
		g.unheard = g.sent
	}
	head := g.node + " " + strconv.FormatInt(g.sent, 10)
	var b strings.Builder
	b.WriteString(head)
	for workspace := range g.feeds {
		b.WriteString(" " + strconv.FormatInt(workspace, 10))
	}
	clear(g.feeds)
	if b.Len() > growthLength {
		return head, g.sent
	}
	return b.String(), g.sent
}

// heard notes that the messages up to one are not on their way any more.
func (g *growth) heard(sent int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.unheard = sent; sent >= g.sent {
		g.unheard = 0
	}
}

// lag returns for how long a message has been on its way, of this node to itself.
func (g *growth) lag() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.unheard == 0 {
		return 0
	}
	return max(time.Duration(time.Now().UnixNano()-g.unheard), 0)
}

// tellOthers tells other nodes what was written, after its commit and so beside the
// writes, until the node ends. Who is not told looks every few seconds.
func (db *DB) tellOthers() {
	for ended := false; !ended; {
		select {
		case <-db.growth.news:
		case <-db.growth.quit:
			ended = true
		}
		if message, sent := db.growth.take(); message != "" {
			ctx, cancel := context.WithTimeout(context.Background(), growthTimeout)
			if _, err := db.writer.Exec(ctx, "SELECT pg_notify($1, $2)", feedChannel, message); err != nil {
				db.growth.heard(sent) // by nobody
			}
			cancel()
			time.Sleep(growthPause)
		}
	}
}

// hearGrowth wakes those who wait for what another node has written.
func (db *DB) hearGrowth(message string) {
	said := strings.Fields(message)
	if len(said) < 2 {
		return
	}
	if said[0] == db.growth.node {
		sent, _ := strconv.ParseInt(said[1], 10, 64) // it wrote that itself
		db.growth.heard(sent)
		return
	}
	if len(said) == 2 {
		db.RingAll()
	}
	for _, text := range said[2:] {
		if workspace, err := strconv.ParseInt(text, 10, 64); err == nil {
			db.Ring(workspace)
		}
	}
}
