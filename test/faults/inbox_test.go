package faults

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"example.com/petstore/test/servertest"
)

// gap divides the id with which a feed goes on when its database may have lost events.
const gap = 1 << 36

// An inbox is a receiver of events.
type inbox struct {
	*httptest.Server
	// reply answers the request for an event; it was noted if noted is true.
	reply func(w http.ResponseWriter, r *http.Request, event int64) (noted bool)
	fails bool // now and then: events may wait for minutes

	mu    sync.Mutex
	order []int64           // in which they arrived first
	got   map[int64]arrival // by event
}

// An arrival is an event that came, once or more often.
type arrival struct {
	times   int
	body    string // which came first
	changed bool   // it was another one later
}

func newInbox(t *testing.T, reply func(http.ResponseWriter, *http.Request, int64) bool) *inbox {
	t.Helper()
	b := &inbox{got: make(map[int64]arrival), reply: reply}
	b.Server = httptest.NewServer(http.HandlerFunc(b.receive))
	t.Cleanup(b.Close)
	return b
}

func (b *inbox) receive(w http.ResponseWriter, r *http.Request) {
	var e struct{ ID int64 }
	body, err := io.ReadAll(r.Body)
	if err != nil || json.Unmarshal(body, &e) != nil {
		return // the server was killed meanwhile
	}
	if b.reply(w, r, e.ID) {
		b.note(e.ID, string(body))
	}
}

func (b *inbox) note(event int64, body string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	a, again := b.got[event]
	if !again {
		b.order = append(b.order, event)
		a.body = body
	}
	a.times++
	a.changed = a.changed || a.body != body
	b.got[event] = a
}

func (b *inbox) has(event int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.got[event].times > 0
}

// missing returns which of some events never arrived.
func (b *inbox) missing(ids []int64) (all []int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, id := range ids {
		if b.got[id].times == 0 {
			all = append(all, id)
		}
	}
	return all
}

// outOfOrder returns how many events arrived first after a later one.
func (b *inbox) outOfOrder() (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	latest := int64(0)
	for _, id := range b.order {
		if id < latest {
			n++
		}
		latest = max(latest, id)
	}
	return n
}

// wantFeed checks that what arrived is what the feed has. It returns how many arrivals were not the first.
func (b *inbox) wantFeed(t *testing.T, feed map[int64]string, most int) (doubled int) {
	t.Helper()
	for id, a := range b.got {
		doubled += a.times - 1
		switch {
		case a.changed || a.body != feed[id]:
			t.Errorf("event %d arrived %d times, first as %s; the feed has %d events, and not this", id, a.times, a.body, len(feed))
		case a.times > most:
			t.Errorf("event %d arrived %d times, want %d at most", id, a.times, most)
		}
	}
	return doubled
}

func well(w http.ResponseWriter, _ *http.Request, _ int64) bool {
	w.WriteHeader(http.StatusNoContent)
	return true
}

// newMoodyInbox returns a receiver that fails, hangs up or is late at random until calm.
func newMoodyInbox(t *testing.T, calm func() bool) *inbox {
	t.Helper()
	b := newInbox(t, func(w http.ResponseWriter, _ *http.Request, _ int64) bool {
		switch n := rand.IntN(8); {
		case calm() || n > 2:
			w.WriteHeader(http.StatusOK)
			return true
		case n == 0:
			panic(http.ErrAbortHandler)
		case n == 1:
			time.Sleep(200 * time.Millisecond)
		}
		w.WriteHeader(http.StatusInternalServerError)
		return false
	})
	b.fails = true
	return b
}

// An integrator sends requests with a key.
type integrator struct {
	*testing.T
	url, key string
}

// newIntegrator makes a workspace with a key.
func newIntegrator(t *testing.T, dir string) *integrator {
	t.Helper()
	key := petstore.Shop(t, dir, "shop")
	return &integrator{T: t, key: key.Key}
}

func (c *integrator) call(method, path, body string, into any) error {
	text, err := exchange(c.Context(), http.DefaultClient, method, c.url+path, c.key, body, "")
	if err != nil || into == nil {
		return err
	}
	return json.Unmarshal([]byte(text), into)
}

func (c *integrator) must(method, path, body string, into any) {
	c.Helper()
	must(c, c.call(method, path, body, into))
}

type hook struct{ ID, State string }

func (c *integrator) hook(url string) (h hook) {
	c.Helper()
	c.must("POST", "/webhooks", `{"url":"`+url+`"}`, &h)
	return h
}

// feed returns all events by their ids, the first of which is 1.
func (c *integrator) feed() map[int64]string {
	c.Helper()
	all := make(map[int64]string)
	for last := int64(0); ; {
		var page []json.RawMessage
		c.must("GET", fmt.Sprintf("/events?limit=100&after=%d", last), "", &page)
		for _, text := range page {
			var e struct{ ID int64 }
			if err := json.Unmarshal(text, &e); err != nil || e.ID != last+1 && e.ID%gap != 0 {
				c.Fatalf("the event %s came after %d, %v", text, last, err)
			}
			all[e.ID], last = string(text), e.ID
		}
		if len(page) == 0 {
			return all
		}
	}
}

// finish checks that everything arrives, as the feed has it, and how often after so many
// faults.
func (c *integrator) finish(faults int, servers []*servertest.Server, boxes ...*inbox) {
	c.Helper()
	feed := c.feed()
	var hooks []hook
	c.must("GET", "/webhooks", "", &hooks)
	for i, box := range boxes {
		c.drain(hooks[i], box, slices.Sorted(maps.Keys(feed)))
	}
	for _, server := range servers {
		if err := server.Stop(); err != nil {
			c.Error(err)
		}
	}
	for i, box := range boxes {
		box.Close() // a late delivery may still be noted: Close waits for it
		doubled := box.wantFeed(c.T, feed, faults+2)
		c.Logf("receiver %d: %d events, %d of them after later ones, and %d once more", i, len(box.got), box.outOfOrder(), doubled)
		if most := 8 * faults; !box.fails && (doubled > most || box.outOfOrder() > 0) {
			c.Errorf("of a receiver that is well no event comes after a later one, and %d come once more at most", most)
		}
	}
}

// drain returns when all these events have arrived. There must always be some that do.
// What waits for minutes is asked for at once.
func (c *integrator) drain(h hook, box *inbox, ids []int64) {
	c.Helper()
	const atOnce = 20
	for missing := box.missing(ids); len(missing) > 0; {
		before := len(missing)
		servertest.Eventually(c.T, fmt.Sprintf("of %d events %d are missing", len(ids), before), func() bool {
			for _, id := range missing[:min(len(missing), atOnce)] {
				if box.fails && !box.has(id) {
					_ = c.call("POST", fmt.Sprintf("/webhooks/%s/deliveries/%d/retry", h.ID, id), "", nil) // it may not be due yet
				}
			}
			missing = box.missing(ids)
			return len(missing) < before
		})
	}
}

// startHooks starts a server in the folder that delivers to receivers on this machine, for the
// time of the test at most. The integrator's requests go to it from now on.
func (c *integrator) startHooks(dir string) *servertest.Server {
	c.Helper()
	server, err := petstore.Serve(servertest.Options{Dir: dir, Flags: []string{
		"--log-level=warn", "--webhook-allow-http", "--webhook-allow-to=127.0.0.0/8", "--drain-timeout=5s",
	}})
	must(c, err)
	c.Cleanup(server.Kill)
	c.url = server.URL
	return server
}
