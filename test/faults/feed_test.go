//go:build linux

package faults

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"example.com/petstore/test/servertest"
)

// A listener follows the feed of the shop by streams, one after the other, each from
// where the one before was cut.
type listener struct {
	client *http.Client
	key    string
	url    *atomic.Pointer[string] // of the server that runs now
	last   atomic.Int64            // the id of the last event
	end    context.CancelFunc
	done   sync.WaitGroup

	// Below are the numbers of events of each order, and what was wrong.
	created, cancelled map[int64]int
	faults             []string
}

func startListener(ctx context.Context, client *http.Client, key string, url *atomic.Pointer[string]) *listener {
	ctx, end := context.WithCancel(ctx)
	l := &listener{client: client, key: key, url: url, end: end, created: map[int64]int{}, cancelled: map[int64]int{}}
	l.done.Go(func() {
		for ctx.Err() == nil {
			if err := l.listen(ctx); err != nil {
				select {
				case <-ctx.Done():
				case <-time.After(5 * time.Millisecond): // the server is away
				}
			}
		}
	})
	return l
}

func (l *listener) get(ctx context.Context, path, accept string) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, *l.url.Load()+path, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+l.key)
	req.Header.Set("Accept", accept)
	req.Header.Set("Last-Event-ID", strconv.FormatInt(l.last.Load(), 10))
	resp, err := l.client.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		_ = resp.Body.Close() // only read
		return nil, fmt.Errorf("GET %s = %d", path, resp.StatusCode)
	}
	return resp.Body, nil
}

// listen reads a stream until it is cut. An event counts when it is whole.
func (l *listener) listen(ctx context.Context) error {
	body, err := l.get(ctx, "/events", "text/event-stream")
	if err != nil {
		return err
	}
	defer body.Close()
	data := ""
	in := bufio.NewScanner(body)
	for in.Scan() {
		switch line := in.Text(); {
		case line == "" && data != "":
			l.hear(data)
			data = ""
		case strings.HasPrefix(line, "data: "):
			data = line[len("data: "):]
		}
	}
	return in.Err()
}

func (l *listener) hear(data string) {
	var e struct {
		ID   int64
		Type string
		Data struct{ ID int64 }
	}
	if err := json.Unmarshal([]byte(data), &e); err != nil {
		l.faults = append(l.faults, fmt.Sprintf("no event: %q", data))
		return
	}
	restored := e.Type == "workspace.reset" && e.ID > l.last.Load() && e.ID%gap == 0 // as after each promotion
	if last := l.last.Load(); e.ID != last+1 && !restored {
		l.faults = append(l.faults, fmt.Sprintf("the event %d came after %d", e.ID, last))
	}
	l.last.Store(e.ID)
	switch e.Type {
	case "order.created":
		l.created[e.Data.ID]++
	case "order.cancelled":
		l.cancelled[e.Data.ID]++
	}
}

// finish returns when the whole feed was heard.
func (l *listener) finish(ctx context.Context) error {
	defer l.done.Wait()
	defer l.end()
	var newer []struct{ ID int64 }
	for deadline := time.Now().Add(servertest.Patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) { // between two polls
		body, err := l.get(ctx, fmt.Sprintf("/events?after=%d", l.last.Load()), "application/json")
		if err != nil {
			return err
		}
		text, err := io.ReadAll(body)
		_ = body.Close() // only read
		if err != nil {
			return err
		}
		if err := json.Unmarshal(text, &newer); err != nil || len(newer) == 0 {
			return err
		}
	}
	return fmt.Errorf("%w: the events from %d on came to nobody", errLedger, newer[0].ID)
}

// heard holds that the feed had each order once, and each cancellation.
func (l *ledger) heard(by *listener) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, fault := range by.faults {
		l.note("the feed: %s", fault)
	}
	for id, o := range l.placed {
		if by.created[id] != 1 || by.cancelled[id] != 0 {
			l.note("the feed created the order %+v %d times, and cancelled it %d times", o, by.created[id], by.cancelled[id])
		}
	}
	for id, o := range l.cancelled {
		if by.created[id] != 1 || by.cancelled[id] != 1 {
			l.note("the feed created the cancelled order %+v %d times, and cancelled it %d times", o, by.created[id], by.cancelled[id])
		}
	}
	if told := len(l.placed) + len(l.cancelled); len(by.created) != told {
		l.note("the feed created %d orders, the buyers were told of %d", len(by.created), told)
	}
}
