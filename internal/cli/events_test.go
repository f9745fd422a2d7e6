package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/petstore/client"
	"example.com/petstore/internal/access"
	"example.com/petstore/internal/node"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/webhook"
)

// A replacedFeed has the event 18 until it was read, and then ends with 14 and gets 15.
type replacedFeed struct {
	node.Store

	end func() // is called when 15 was read
}

func (replacedFeed) Workspace(context.Context, string) (access.Workspace, error) {
	return access.Workspace{ID: 1}, nil
}

func (f replacedFeed) Events(_ context.Context, _ int64, q petstore.EventQuery) (petstore.EventPage, error) {
	page := func(id int64) (petstore.EventPage, error) {
		return petstore.EventPage{Events: []petstore.Event{{ID: id, Type: petstore.PetCreated, Data: []byte("{}")}}, Next: id, Last: id}, nil
	}
	switch {
	case q.Oldest && q.After == 0:
		return page(18)
	case q.Oldest:
		return petstore.EventPage{Next: 3, Last: 14}, nil
	case q.After == 14:
		return page(15)
	case q.After == 15:
		f.end()
		return petstore.EventPage{Next: 15, Last: 15}, nil
	}
	return petstore.EventPage{}, petstore.EventsBeyond(q.After, 14)
}

// TestFollowAReplacedFeed: events --follow says that the feed is another one, and goes on
// at its end. Without a position that was read it is an error.
func TestFollowAReplacedFeed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var out, said bytes.Buffer
		a := &app{out: &out, err: &said, getenv: func(string) string { return "" }, now: time.Now, output: tables()}
		err := a.events(ctx, replacedFeed{end: cancel}, "acme", petstore.EventQuery{Oldest: true, Limit: 10}, true)
		if !errors.Is(err, context.Canceled) || !strings.Contains(said.String(), "the newest has the id 14") {
			t.Errorf("events = %v, and said %q", err, said.String())
		}
		if got := strings.Fields(out.String()); len(got) != 2 || !strings.HasPrefix(got[0], `{"id":18,`) || !strings.HasPrefix(got[1], `{"id":15,`) {
			t.Errorf("printed %q, want the events 18 and 15", out.String())
		}
		err = a.events(ctx, replacedFeed{}, "acme", petstore.EventQuery{After: 99, Limit: 10}, true)
		if petstore.CodeOf(err) != petstore.CodeEventsExpired {
			t.Errorf("events after 99 = %v, want %s", err, petstore.CodeEventsExpired)
		}
	})
}

// A forgetfulFeed has the event 18 until it was read, and then 25 as the oldest, and 26.
type forgetfulFeed struct {
	replacedFeed
}

func (f forgetfulFeed) Events(_ context.Context, _ int64, q petstore.EventQuery) (petstore.EventPage, error) {
	event := func(id int64) petstore.Event {
		return petstore.Event{ID: id, Type: petstore.PetCreated, Data: []byte("{}")}
	}
	switch {
	case q.Oldest && q.After == 0:
		return petstore.EventPage{Events: []petstore.Event{event(18)}, Next: 18, Last: 18}, nil
	case q.Oldest:
		return petstore.EventPage{Events: []petstore.Event{event(25), event(26)}, Next: 26, Last: 26}, nil
	case q.After == 26:
		f.end()
		return petstore.EventPage{Next: 26, Last: 26}, nil
	}
	return petstore.EventPage{}, petstore.EventsExpired(q.After, 25)
}

// TestFollowAForgetfulFeed: events --follow says that events are gone, and misses no other.
func TestFollowAForgetfulFeed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var out, said bytes.Buffer
		a := &app{out: &out, err: &said, getenv: func(string) string { return "" }, now: time.Now, output: tables()}
		err := a.events(ctx, forgetfulFeed{replacedFeed{end: cancel}}, "acme", petstore.EventQuery{Oldest: true, Limit: 10}, true)
		if !errors.Is(err, context.Canceled) || !strings.Contains(said.String(), "the oldest that is kept has the id 25") {
			t.Errorf("events = %v, and said %q", err, said.String())
		}
		got := strings.Fields(out.String())
		for i, id := range []string{"18", "25", "26"} {
			if len(got) != 3 || !strings.HasPrefix(got[i], `{"id":`+id+",") {
				t.Fatalf("printed %q, want the events 18, 25 and 26", got)
			}
		}
	})
}

// TestListenToAReplacedFeed: listen says that the feed is another one, and goes on at its
// end.
func TestListenToAReplacedFeed(t *testing.T) {
	t.Parallel()
	testListen(t, "14", "There is no event 18: the newest has the id 14.")
}

// TestListenToAForgetfulFeed: listen says that events are gone, and goes on with the oldest
// that is kept.
func TestListenToAForgetfulFeed(t *testing.T) {
	t.Parallel()
	testListen(t, "26", "Some events after 18 are no longer kept.")
}

// testListen has listen follow a feed from the event 18 on, which has expired when it asks
// again: then the feed ends with another, and 15 comes after 14 and is the oldest.
func testListen(t *testing.T, end, message string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	last, expired := "18", false
	mux := http.NewServeMux()
	mux.HandleFunc("/account", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"workspace":{"id":1,"name":"acme"}}`)
	})
	mux.HandleFunc("/events", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		after, body := r.FormValue("after"), "[]"
		switch after {
		case "18":
			last, expired = end, true
			w.WriteHeader(http.StatusGone)
			fmt.Fprintf(w, `{"code":"events_expired","message":%q,"status":410}`, message)
			return
		case "", "14":
			if after == "" && (!expired || r.FormValue("limit") == "1") { // only asks for the end
				after = last
				break
			}
			after, body = "15", `[{"id":15,"type":"pet.created","createdAt":"2026-03-01T09:30:00Z","data":{}}]`
		case "15", "26":
			cancel()
		}
		w.Header().Set("Link", fmt.Sprintf(`</events?after=%s>; rel="next", </events?after=%s>; rel="last"`, after, last))
		fmt.Fprint(w, body)
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	got := make(chan string, 2)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got <- r.Header.Get("webhook-id") }))
	defer receiver.Close()
	c, err := client.New(server.URL, "pst_key")
	if err != nil {
		t.Fatal(err)
	}
	var out, said bytes.Buffer
	a := &app{out: &out, err: &said, getenv: func(string) string { return "" }, now: time.Now}
	err = (&listener{app: a, client: c, to: receiver.URL, secret: webhook.MintSecret()}).run(ctx)
	if !errors.Is(err, context.Canceled) || !strings.Contains(said.String(), message+" Continuing") {
		t.Errorf("listen = %v, and said %q", err, said.String())
	}
	if len(got) != 1 || <-got != "evt_1_15" {
		t.Errorf("forwarded %d events, want evt_1_15 alone: %s", len(got), out.String())
	}
}
