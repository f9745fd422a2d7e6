package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
)

// TestListenAsJSON: listen prints an object on each line, signs with the secret it is given, which it does not print, and
// posts an event as the server sent it.
func TestListenAsJSON(t *testing.T) {
	t.Parallel()
	const secret = "whsec_c2VjcmV0"
	const event = `{"type":"pet.created","id":8,"new":1e0,"createdAt":"2026-03-01T09:30:00Z","data":{"note":"<&"}}`
	var got string
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = string(body)
		w.WriteHeader(http.StatusTeapot)
	}))
	defer receiver.Close()
	server := func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/account":
			fmt.Fprint(w, `{"workspace":{"id":1,"name":"acme"}}`)
		case r.FormValue("after") == "8": // the event was forwarded
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `{"code":"insufficient_scope","message":"Enough.","status":403}`)
		case r.FormValue("after") == "7":
			w.Header().Set("Link", `</events?after=8>; rel="next", </events?after=8>; rel="last"`)
			fmt.Fprint(w, "["+event+"]")
		default:
			w.Header().Set("Link", `</events?after=7>; rel="next", </events?after=7>; rel="last"`)
			fmt.Fprint(w, "[]")
		}
	}
	code, out, said := call(t, server, "listen", "--forward-to", strings.Replace(receiver.URL, "//", "//user:hunter2@", 1), "--secret", secret, "-o", "json")
	if code != Failure || !strings.Contains(said, "403 insufficient_scope") || got != event {
		t.Errorf("listen = %d, said %q, and posted %s, want %s", code, said, got, event)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 2 {
		t.Fatalf("listen printed %q, want two lines", out)
	}
	var start, posted map[string]any
	if err := json.Unmarshal([]byte(lines[0]), &start); err != nil || !reflect.DeepEqual(start, map[string]any{"workspace": "acme", "forwardTo": strings.Replace(receiver.URL, "//", "//user:xxxxx@", 1)}) {
		t.Errorf("the first line is %s, %v", lines[0], err)
	}
	err := json.Unmarshal([]byte(lines[1]), &posted)
	if delete(posted, "latencyMs"); err != nil || !reflect.DeepEqual(posted, map[string]any{"id": 8., "type": "pet.created", "status": 418.}) {
		t.Errorf("the second line is %s, %v", lines[1], err)
	}
}

// TestListenPrintsANewSecret: listen prints the secret only if it made it, and nothing of the server as a control.
func TestListenPrintsANewSecret(t *testing.T) {
	t.Parallel()
	server := func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/account":
			fmt.Fprint(w, `{"workspace":{"id":1,"name":"a\u001bb"}}`)
		case r.FormValue("after") == "7":
			w.WriteHeader(http.StatusForbidden)
		default:
			w.Header().Set("Link", `</events?after=7>; rel="next", </events?after=7>; rel="last"`)
			fmt.Fprint(w, "[]")
		}
	}
	const start = "Forwarding the events of a\\u001bb to http://h"
	for command, secret := range map[string]string{
		"listen --forward-to http://h":                         ", signed with the secret whsec_",
		"listen --forward-to http://h --secret whsec_c2VjcmV0": "\n",
	} {
		_, out, said := call(t, server, strings.Fields(command)...)
		rest, ok := strings.CutPrefix(out, start)
		if !ok || !strings.HasPrefix(rest, secret) {
			t.Errorf("%s printed %q, said %q, want %q and %q", command, out, said, start, secret)
		}
	}
}

// TestListenPastAGap: listen says that its position in the feed has expired, and goes on with the oldest event that is kept.
func TestListenPastAGap(t *testing.T) {
	t.Parallel()
	got := make(chan string, 2)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got <- r.Header.Get("webhook-id") }))
	defer receiver.Close()
	const link = `</events?after=%[1]s>; rel="next", </events?after=%[1]s>; rel="last"`
	server := func(w http.ResponseWriter, r *http.Request) {
		switch after := r.FormValue("after"); {
		case r.URL.Path == "/account":
			fmt.Fprint(w, `{"workspace":{"id":1,"name":"acme"}}`)
		case r.FormValue("limit") == "1": // asks for the end
			w.Header().Set("Link", fmt.Sprintf(link, "18"))
			fmt.Fprint(w, "[]")
		case after == "18":
			w.WriteHeader(http.StatusGone)
			fmt.Fprint(w, `{"code":"events_expired","message":"There is no event 18.","status":410}`)
		case after == "":
			w.Header().Set("Link", fmt.Sprintf(link, "15"))
			fmt.Fprint(w, `[{"id":15,"type":"pet.created","createdAt":"2026-03-01T09:30:00Z","data":{}}]`)
		default:
			w.WriteHeader(http.StatusForbidden)
		}
	}
	if _, out, said := call(t, server, "listen", "--forward-to", receiver.URL); !strings.Contains(said, "There is no event 18. Continuing") || len(got) != 1 || <-got != "evt_1_15" {
		t.Errorf("listen forwarded %d events, want evt_1_15 alone: %s, and said %q", len(got), out, said)
	}
}
