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

// A scriptedFeed gives one answer after the other, and then ends the command.
type scriptedFeed struct {
	node.Store

	answers []any    // ids of events, of which the last is the feed's, or an error
	asked   []string // what it was asked for: after which event, and whether for the oldest
	end     func()
}

func (*scriptedFeed) Workspace(context.Context, string) (access.Workspace, error) {
	return access.Workspace{ID: 1}, nil
}

func (f *scriptedFeed) Events(_ context.Context, _ int64, q petstore.EventQuery) (page petstore.EventPage, err error) {
	f.asked = append(f.asked, fmt.Sprint(q.After, q.Oldest))
	if len(f.answers) == 0 {
		f.end()
		return petstore.EventPage{Next: q.After, Last: q.After}, nil
	}
	switch answer := f.answers[0].(type) {
	case error:
		err = answer
	case []int64:
		for _, id := range answer {
			page.Events = append(page.Events, petstore.Event{ID: id, Type: petstore.PetCreated, Data: []byte("{}")})
			page.Next, page.Last = id, id
		}
	}
	f.answers = f.answers[1:]
	return page, err
}

// TestFollowPastAGap: events --follow says that events are gone and goes on with the oldest, or that the feed is another one
// and goes on at its end. Without a position that was read, either is an error.
func TestFollowPastAGap(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answers []any
		asked   []string // from the third on
		says    string
		printed []string
	}{
		"forgetful": {[]any{[]int64{18}, petstore.EventsExpired(18, 25), []int64{25, 26}},
			[]string{"18 true", "26 false"}, "has the id 25. Read the lists, then continue without after. " + fromOldest, []string{"18", "25", "26"}},
		"replaced": {[]any{[]int64{18}, petstore.EventsBeyond(18, 14), []int64{3, 14}, []int64{15}},
			[]string{"18 true", "14 false", "15 false"}, "has the id 14. Read the lists, then continue after 14. " + fromEnd, []string{"18", "15"}},
		"at once": {[]any{petstore.EventsBeyond(18, 14)}, nil, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				feed := &scriptedFeed{answers: test.answers, end: cancel}
				var out, said bytes.Buffer
				a := &app{out: &out, err: &said, getenv: func(string) string { return "" }, now: time.Now, output: tables()}
				err := a.events(ctx, feed, "acme", petstore.EventQuery{Oldest: true, Limit: 10}, true)
				if want := test.asked != nil; errors.Is(err, context.Canceled) != want || want == (petstore.CodeOf(err) == petstore.CodeEventsExpired) {
					t.Errorf("events = %v", err)
				}
				if got := feed.asked[min(2, len(feed.asked)):]; !slices.Equal(got, test.asked) {
					t.Errorf("it asked for %q, want %q", got, test.asked)
				}
				var printed []string
				for line := range strings.Lines(out.String()) {
					id, _, _ := strings.Cut(strings.TrimPrefix(line, `{"id":`), ",")
					printed = append(printed, id)
				}
				if !slices.Equal(printed, test.printed) || !strings.Contains(said.String(), test.says) {
					t.Errorf("it printed the events %v and said %q, want %v and %q", printed, said.String(), test.printed, test.says)
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
