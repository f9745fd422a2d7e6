package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
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

// A changedFeed has the event 18 until it was read, and then is another one, of which rest says what it is asked for.
type changedFeed struct {
	node.Store

	rest func(q petstore.EventQuery) (petstore.EventPage, error)
}

func (changedFeed) Workspace(context.Context, string) (access.Workspace, error) {
	return access.Workspace{ID: 1}, nil
}

func (f changedFeed) Events(_ context.Context, _ int64, q petstore.EventQuery) (petstore.EventPage, error) {
	if q.Oldest && q.After == 0 {
		return eventsFrom(18), nil
	}
	return f.rest(q)
}

// eventsFrom returns a page with these events, of which the last is the feed's.
func eventsFrom(ids ...int64) (page petstore.EventPage) {
	for _, id := range ids {
		page.Events = append(page.Events, petstore.Event{ID: id, Type: petstore.PetCreated, Data: []byte("{}")})
		page.Next, page.Last = id, id
	}
	return page
}

// TestFollowAChangedFeed: events --follow says that the feed is another one and goes on at its end, or that events are gone
// and misses no other. Without a position that was read it is an error.
func TestFollowAChangedFeed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		oldest petstore.EventPage // what it has when it is asked for its oldest
		then   map[int64]petstore.EventPage
		error  error // of what comes after 18
		says   string
		want   []string // the events that are printed
	}{
		"replaced": {petstore.EventPage{Next: 3, Last: 14}, map[int64]petstore.EventPage{14: eventsFrom(15)},
			petstore.EventsBeyond(18, 14), "the newest has the id 14", []string{"18", "15"}},
		"forgetful": {eventsFrom(25, 26), nil, petstore.EventsExpired(18, 25), "the oldest that is kept has the id 25", []string{"18", "25", "26"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				feed := changedFeed{rest: func(q petstore.EventQuery) (petstore.EventPage, error) {
					page, more := test.then[q.After]
					switch {
					case q.Oldest:
						return test.oldest, nil
					case more:
						return page, nil
					case q.After == 15 || q.After == 26: // all were read
						cancel()
						return petstore.EventPage{Next: q.After, Last: q.After}, nil
					}
					return page, test.error
				}}
				var out, said bytes.Buffer
				a := &app{out: &out, err: &said, getenv: func(string) string { return "" }, now: time.Now, output: tables()}
				err := a.events(ctx, feed, "acme", petstore.EventQuery{Oldest: true, Limit: 10}, true)
				if !errors.Is(err, context.Canceled) || !strings.Contains(said.String(), test.says) {
					t.Errorf("events = %v, and said %q, want %q", err, said.String(), test.says)
				}
				var got []string
				for _, line := range strings.Fields(out.String()) {
					id, _, _ := strings.Cut(strings.TrimPrefix(line, `{"id":`), ",")
					got = append(got, id)
				}
				if !slices.Equal(got, test.want) {
					t.Errorf("printed the events %v, want %v", got, test.want)
				}
				err = a.events(ctx, feed, "acme", petstore.EventQuery{After: 99, Limit: 10}, true)
				if petstore.CodeOf(err) != petstore.CodeEventsExpired {
					t.Errorf("events after 99 = %v, want %s", err, petstore.CodeEventsExpired)
				}
			})
		})
	}
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
