//go:build linux

package faults

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"example.com/petstore/test/servertest"
)

// webhookKills is how often TestWebhooksAreDelivered kills the server.
var webhookKills = flag.Int("webhook-kills", 5, "let TestWebhooksAreDelivered kill the server `N` times")

// An inbox is a receiver of events. One that is moody refuses some of them when they
// come for the first time, or hangs up.
type inbox struct {
	*httptest.Server
	moody bool

	mu      sync.Mutex
	refused map[int64]bool
	arrived map[int64]int // how often, by event
	latest  int64
	late    int      // events that arrived after later ones
	bodies  []string // of all that arrived
}

func newInbox(t *testing.T, moody bool) *inbox {
	t.Helper()
	b := &inbox{moody: moody, refused: map[int64]bool{}, arrived: map[int64]int{}}
	b.Server = httptest.NewServer(b)
	t.Cleanup(b.Close)
	return b
}

func (b *inbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var e event
	body, err := io.ReadAll(r.Body)
	if err != nil || json.Unmarshal(body, &e) != nil {
		return // the server was killed meanwhile
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	mood := rand.IntN(8)
	if b.moody && mood < 2 && !b.refused[e.ID] {
		b.refused[e.ID] = true
		if mood == 0 {
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	if b.arrived[e.ID]++; b.arrived[e.ID] == 1 && e.ID < b.latest {
		b.late++
	}
	b.latest = max(b.latest, e.ID)
	b.bodies = append(b.bodies, string(body))
}

// missing returns how many of so many events never arrived.
func (b *inbox) missing(events int) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return events - len(b.arrived)
}

// check fails the test unless what arrived is what the feed has, of a receiver that is
// well in its order, and not more of it twice than kills explain.
func (b *inbox) check(t *testing.T, name int, feed map[string]bool, kills int) {
	t.Helper()
	b.Close() // waits for what is in flight
	for _, body := range b.bodies {
		if !feed[body] {
			t.Errorf("%s arrived, and is not in the feed", body)
		}
	}
	twice := len(b.bodies) - len(b.arrived)
	t.Logf("receiver %d: %d events, %d of them after later ones, and %d once more", name, len(b.arrived), b.late, twice)
	if most := 8 * kills; twice > most || b.late > 0 && !b.moody {
		t.Errorf("want %d once more at most, and of a receiver that is well no event after a later one", most)
	}
}

// TestWebhooksAreDelivered: the server is killed again and again while it delivers to a
// receiver that is well and to one that fails or hangs up at random. In the end each event
// has reached both, and nothing that is no event; the one that is well had them in order.
func TestWebhooksAreDelivered(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	key := petstore.Shop(t, dir, "shop").Key
	boxes := []*inbox{newInbox(t, false), newInbox(t, true)}
	for kills := range *webhookKills + 1 {
		server := petstore.Start(t, servertest.Options{Dir: dir, Flags: []string{"--log-level=warn", "--webhook-allow-http", "--webhook-allow-to=127.0.0.0/8"}})
		post := func(path, body string) error {
			_, err := exchange(t.Context(), http.DefaultClient, servertest.Request{Method: http.MethodPost, URL: server.URL + path, Key: key, Body: body})
			return err
		}
		if kills == 0 {
			for _, b := range boxes {
				must(t, post("/webhooks", `{"url":"`+b.URL+`"}`))
			}
		}
		if kills == *webhookKills {
			arriveAtLast(t, server, key, boxes)
			break
		}
		for range 10 + rand.IntN(40) {
			must(t, post("/categories", `{"name":"dogs"}`))
		}
		server.Kill() // with some of it on the way
	}
}

// arriveAtLast waits until the whole feed has arrived, and checks it.
func arriveAtLast(t *testing.T, server *servertest.Server, key string, boxes []*inbox) {
	t.Helper()
	feed := feedOf(t, server.URL, key)
	for _, b := range boxes { // what was refused comes again after five seconds
		for missing := b.missing(len(feed)); missing > 0; {
			before := missing
			servertest.Eventually(t, fmt.Sprintf("%d events are missing", missing), func() bool {
				missing = b.missing(len(feed))
				return missing < before
			})
		}
	}
	must(t, server.Stop())
	for i, b := range boxes {
		b.check(t, i, feed, *webhookKills)
	}
}

// feedOf returns all events. The id of the first is 1.
func feedOf(t *testing.T, url, key string) map[string]bool {
	t.Helper()
	all := make(map[string]bool)
	for {
		text, err := exchange(t.Context(), http.DefaultClient, servertest.Request{
			Method: http.MethodGet, URL: fmt.Sprintf("%s/events?limit=100&after=%d", url, len(all)), Key: key,
		})
		must(t, err)
		var page []json.RawMessage
		must(t, json.Unmarshal([]byte(text), &page))
		for _, body := range page {
			all[string(body)] = true
		}
		if len(page) == 0 {
			return all
		}
	}
}
