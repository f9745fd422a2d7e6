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
	"time"

	"example.com/petstore/client"
	"example.com/petstore/internal/webhook"
)

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
