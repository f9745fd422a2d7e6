package httpapi_test

import (
	"context"
	"net/http"
	"strconv"
	"testing"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/httpapi"
	"example.com/petstore/internal/ratelimit"
)

// TestConsoleSpendsOnlyGuesses: pages are free; trying a key counts for the address, even beside a key that is valid.
func TestConsoleSpendsOnlyGuesses(t *testing.T) {
	t.Parallel()
	cfg := limits()
	cfg.AddressLimits = ratelimit.Limits{PerMinute: 3, PerDay: 100}
	s := openLimitedService(t, cfg, func(o *httpapi.Options) {
		o.Console = func(w http.ResponseWriter, _ *http.Request, p *httpapi.ConsoleGate) {
			w.Header().Set("Wait", strconv.Itoa(int(p.Wait().Seconds())))
			w.WriteHeader(http.StatusOK)
		}
	})
	s.do(request{method: "PUT", path: "/console"}).want(405, "method_not_allowed")
	for i, test := range []struct {
		method, path, key string
		remaining, wait   string
	}{
		{"GET", "/console", "-", "3", "0"},
		{"POST", "/console/pets", "-", "3", "0"},
		{"GET", "/console/signin", "-", "3", "0"},
		{"POST", "/console/signin", "-", "2", "0"},
		{"POST", "/console/signin", s.key, "1", "0"},
		{"POST", "/console/signin", "-", "0", "0"},
		{"POST", "/console/signin", "-", "0", "60"},
		{"GET", "/console/signin", "-", "0", "0"},
	} {
		a := s.do(request{method: test.method, path: test.path, key: test.key})
		if got := a.header.Get("X-RateLimit-Remaining"); a.status != http.StatusOK || got != test.remaining || a.header.Get("Wait") != test.wait {
			t.Errorf("%d: %s %s = %d, remaining %s, wait %s, want 200, %s, %s", i, test.method, test.path, a.status, got, a.header.Get("Wait"), test.remaining, test.wait)
		}
	}
}

// TestConsoleCountsSessions: what the console admits for a session is counted, headed and observed like a request of the API.
func TestConsoleCountsSessions(t *testing.T) {
	t.Parallel()
	seen := make(chan httpapi.Observation, 8)
	var s *service
	s = openLimitedService(t, limits(), func(o *httpapi.Options) {
		o.Observe = func(_ context.Context, o httpapi.Observation) { seen <- o }
		o.Console = func(w http.ResponseWriter, r *http.Request, p *httpapi.ConsoleGate) {
			entry, err := s.keys.Verify(s.key)
			if err != nil {
				t.Error(err)
			}
			if r.Method == http.MethodPost {
				p.Admit(entry)
			} else {
				p.Show(entry, s.limiter.Peek(entry.Attachment))
			}
			w.WriteHeader(http.StatusOK)
		}
	})
	limit, err := strconv.Atoi(s.do(request{method: "GET", path: "/account"}).header.Get("X-RateLimit-Remaining"))
	must(t, err)
	<-seen
	for i, test := range []struct {
		method, outcome string
		left            int
	}{{"GET", "free", limit}, {"POST", "admitted", limit - 1}, {"GET", "free", limit - 1}} {
		a := s.do(request{method: test.method, path: "/console/pets", key: "-"})
		if got := a.header.Get("X-RateLimit-Remaining"); got != strconv.Itoa(test.left) {
			t.Errorf("%d: %s leaves %s, want %d", i, test.method, got, test.left)
		}
		if o := <-seen; o.Outcome != test.outcome || o.Workspace != s.workspace.ID {
			t.Errorf("%d: %s was observed as %+v, want %s of workspace %d", i, test.method, o, test.outcome, s.workspace.ID)
		}
	}
}

// TestObservedRefusal: what is observed of a refused request is what its answer says of the window.
func TestObservedRefusal(t *testing.T) {
	t.Parallel()
	seen := make(chan httpapi.Observation, 8)
	s := openLimitedService(t, limits(), func(o *httpapi.Options) { o.Observe = func(_ context.Context, o httpapi.Observation) { seen <- o } })
	small := s.addKey(s.addWorkspace("small", access.Quota{PerMinute: 3, PerDay: 1000}), access.Read, time.Time{})
	for {
		a := s.do(request{method: "GET", path: "/pets", key: small})
		o := <-seen
		if a.status == http.StatusOK && o.Refused == "" {
			continue
		}
		head := [2]string{a.header.Get("X-RateLimit-Limit"), a.header.Get("X-RateLimit-Reset")}
		if seen := [2]string{strconv.FormatInt(o.Limit, 10), strconv.FormatInt(o.Until, 10)}; a.status != http.StatusTooManyRequests || seen != head || o.Refused != "minute" {
			t.Errorf("%d was observed as %s %v, and its answer says %v", a.status, o.Refused, seen, head)
		}
		return
	}
}

// TestObservation: what is observed of a response names the caller, and no key.
func TestObservation(t *testing.T) {
	t.Parallel()
	seen := make(chan httpapi.Observation, 8)
	s := openService(t, func(o *httpapi.Options) { o.Observe = func(_ context.Context, o httpapi.Observation) { seen <- o } })
	a := s.do(request{method: "GET", path: "/pets/" + s.key})
	entry, err := s.keys.Verify(s.key)
	must(t, err)
	o := <-seen
	if o.Workspace != s.workspace.ID || o.KeyID != entry.Key.ID || o.Path != "/pets/pst_…" || o.Code != "invalid_parameter" ||
		o.RequestID != a.header.Get("X-Request-Id") || !o.At.Equal(s.start) {
		t.Errorf("Observe got %+v", o)
	}
	for query, want := range map[string]string{
		"name=rex&limit=3": "name=rex&limit=3", "name=" + s.key: "name=pst_…", "name=%70st_" + s.key[4:]: "…", "name=rex+%26%20co": "name=rex+%26%20co", "name=%zz": "…",
	} {
		s.do(request{method: "GET", path: "/pets?" + query})
		if o := <-seen; o.Query != want || o.Refused != "" {
			t.Errorf("of the query %s Observe got %q and %q, want %q and no refusal", query, o.Query, o.Refused, want)
		}
	}
}
