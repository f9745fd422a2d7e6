//go:build linux

package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"example.com/petstore/test/servertest"
)

// gap divides the id with which a feed goes on when its database may have lost events.
const gap = 1 << 36

// An event is what counts here of one.
type event struct {
	ID   int64
	Type string
	Data struct{ ID int64 }
}

// A listener follows the feed of the shop, through all faults.
type listener struct {
	key  string
	url  *atomic.Pointer[string] // of the server that runs now
	end  context.CancelFunc
	done sync.WaitGroup

	// Below are the id of the last event, the numbers of events of each order, and what
	// was wrong.
	last               int64
	created, cancelled map[int64]int
	faults             []string
}

func startListener(ctx context.Context, key string, url *atomic.Pointer[string]) *listener {
	ctx, end := context.WithCancel(ctx)
	l := &listener{key: key, url: url, end: end, created: map[int64]int{}, cancelled: map[int64]int{}}
	l.done.Go(func() {
		for ctx.Err() == nil {
			if _, err := l.read(ctx, 10*time.Second); err != nil {
				rest(ctx, 5*time.Millisecond) // the server is away
			}
		}
	})
	return l
}

// read reads the next events, for which it waits for a while. It returns how many there
// were.
func (l *listener) read(ctx context.Context, wait time.Duration) (n int, err error) {
	text, err := exchange(ctx, http.DefaultClient, servertest.Request{
		Method: http.MethodGet, URL: fmt.Sprintf("%s/events?limit=100&wait=%.0f&after=%d", *l.url.Load(), wait.Seconds(), l.last), Key: l.key,
	})
	if err != nil {
		return 0, err
	}
	var page []event
	err = json.Unmarshal([]byte(text), &page)
	for _, e := range page {
		l.hear(e)
	}
	return len(page), err
}

func (l *listener) hear(e event) {
	restored := e.Type == "workspace.reset" && e.ID > l.last && e.ID%gap == 0 // as after each promotion
	if e.ID != l.last+1 && !restored {
		l.faults = append(l.faults, fmt.Sprintf("the event %d came after %d", e.ID, l.last))
	}
	l.last = e.ID
	switch e.Type {
	case "order.created":
		l.created[e.Data.ID]++
	case "order.cancelled":
		l.cancelled[e.Data.ID]++
	}
}

// stop ends the listener without the rest of the feed.
func (l *listener) stop() {
	l.end()
	l.done.Wait()
}

// finish returns when the whole feed was heard.
func (l *listener) finish(ctx context.Context) error {
	l.stop()
	for {
		if n, err := l.read(ctx, 0); err != nil || n == 0 {
			return err
		}
	}
}

// heard holds that the feed had each order once, and each cancellation.
func (l *ledger) heard(by *listener) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, fault := range by.faults {
		l.note("the feed: %s", fault)
	}
	for cancelled, orders := range []map[int64]order{l.placed, l.cancelled} {
		for id, o := range orders {
			if by.created[id] != 1 || by.cancelled[id] != cancelled {
				l.note("the feed created the order %+v %d times, and cancelled it %d times, want %d", o, by.created[id], by.cancelled[id], cancelled)
			}
		}
	}
	if told := len(l.placed) + len(l.cancelled); len(by.created) != told {
		l.note("the feed created %d orders, the buyers were told of %d", len(by.created), told)
	}
}
