package httpapi_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/httpapi"
)

// TestExpressAnswersAsNetHTTP sends the same requests, in the same order, to two
// shops: to one over net/http alone.
func TestExpressAnswersAsNetHTTP(t *testing.T) {
	t.Parallel()
	whileRedisAnswers(t, func() (faults []string, without int64) {
		alone, express := newTwin(t, true), newTwin(t, false)
		faults = compare(t, alone, express)
		return faults, alone.shop.withoutRedis() + express.shop.withoutRedis()
	})
}

// compare returns what the twins answer differently.
func compare(t *testing.T, alone, express *twin) (differences []string) {
	t.Helper()
	alone.wire, express.wire = alone.shop.dial(t), express.shop.dial(t)
	for _, r := range agreements() {
		want, got := alone.ask(r), express.ask(r)
		if got.status != want.status || got.body != want.body || !slices.Equal(got.lines, want.lines) {
			differences = append(differences, fmt.Sprintf("%s %s %.60q %v is answered\n%d %q\n%s\nnet/http answers\n%d %q\n%s",
				r.method, clip(r.path), r.body, r.header, got.status, got.lines, got.body, want.status, want.lines, want.body))
		}
	}
	if n := express.shop.api.ExpressConns(); n == 0 {
		t.Error("no connection is express at the end, want the one that was used")
	}
	if n := alone.shop.api.ExpressConns(); n != 0 {
		t.Errorf("%d connections of a wrapped API are express, want none", n)
	}
	return differences
}

// A twin is a shop with the same content as another one, and a connection to it.
type twin struct {
	shop    *shop
	wire    *wire
	keys    map[string]string // by what the requests call them
	secrets *strings.Replacer // of what differs between twins
}

func newTwin(t *testing.T, wrapped bool) *twin {
	t.Helper()
	s := openShop(t, func(o *httpapi.Options) {
		o.Wrapped, o.Secret = wrapped, []byte("the same for both of them")
	})
	s.stock()
	for range 30 {
		s.post("/pets", `{"name":"A name that repeats","categoryId":1}`).want(201, "")
	}
	w := &twin{shop: s, keys: map[string]string{
		"all":     s.key,
		"reader":  s.addKey(s.workspace, access.Read, time.Time{}),
		"tiny":    s.addKey(s.addWorkspace("tiny", access.Quota{PerMinute: 2, PerDay: 100}), access.Read, time.Time{}),
		"expired": s.addKey(s.workspace, access.Read, s.clock.Now().Add(time.Second)),
		"unknown": wrongKey(s.key),
	}}
	s.clock.Advance(2 * time.Second)
	differ := []string{s.start.Format(milliseconds), "START"}
	for _, name := range []string{"all", "reader", "tiny"} {
		e, err := s.keys.Verify(w.keys[name])
		if err != nil {
			t.Fatal(err)
		}
		differ = append(differ, e.Key.ID, "ID", e.Key.Prefix, "PREFIX")
	}
	w.secrets = strings.NewReplacer(differ...)
	return w
}

// wrongKey returns a key whose checksum does not fit.
func wrongKey(key string) string {
	last := len(key) - 1
	if key[last] == 'x' {
		return key[:last] + "y"
	}
	return key[:last] + "x"
}

// resets are the places of an answer that say when a window ends.
var resets = regexp.MustCompile(`("reset":|^X-RateLimit-Reset: |^Retry-After: |;t=)[^,;}]+`)

// ask returns the answer without what may differ.
func (w *twin) ask(r request) wireReply {
	w.shop.t.Helper()
	if _, given := r.header["X-Request-Id"]; !given {
		if r.header == nil {
			r.header = map[string]string{}
		}
		r.header["X-Request-Id"] = "given"
	}
	if r.key != "-" && r.key != "" {
		r.key = w.keys[r.key]
	}
	w.wire.send(r.text(w.shop.key))
	a := w.wire.next(r.method)
	if strings.Contains(r.header["X-Request-Id"], " ") { // the server makes one
		a.body = strings.ReplaceAll(a.body, a.line("X-Request-Id"), "MADE")
	}
	for i, line := range a.lines {
		switch name, value, _ := strings.Cut(line, ": "); {
		case name == "Date" && len(value) == len("Mon, 02 Jan 2006 15:04:05 GMT"):
			a.lines[i] = "Date"
		case name == "X-Request-Id" && value != r.header["X-Request-Id"]:
			a.lines[i] = "X-Request-Id"
		}
	}
	slices.Sort(a.lines)
	a.body = w.secrets.Replace(a.body)
	if *limiterName == "redis" { // whose clock nobody can hold
		a.body = resets.ReplaceAllString(a.body, "$1")
		for i, line := range a.lines {
			a.lines[i] = resets.ReplaceAllString(line, "$1")
		}
	}
	return a
}

// waitFor polls until the condition holds.
func waitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// agreements are requests of every kind that is answered without net/http:
// every operation, and what is refused on the way to it.
func agreements() []request {
	var all []request
	ids := make([]string, 0, 32)
	for id := range samples() {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	with := func(r request, name, value string) request {
		r.header = map[string]string{name: value}
		return r
	}
	for _, id := range ids {
		r := samples()[id]
		all = append(all, r, r) // the second one may meet another state
		for _, key := range []string{"-", "reader", "expired", "unknown"} {
			keyed := r
			keyed.key = key
			all = append(all, keyed)
		}
		all = append(all, with(r, "Accept", "text/html"), with(r, "Origin", "https://a.example"), with(r, "X-Request-Id", "not usable"))
		if r.method == "GET" {
			head := r
			head.method = "HEAD"
			all = append(all, head, with(r, "If-None-Match", "*"), with(head, "If-None-Match", "*"), with(r, "If-None-Match", "odd"))
		} else {
			all = append(all, with(r, "If-Match", `"other"`), with(r, "Idempotency-Key", "k"), with(r, "Idempotency-Key", "k"))
		}
		if r.body != "" {
			odd := r
			odd.body = "{"
			all = append(all, odd, with(r, "Content-Type", "text/plain"), with(r, "Content-Encoding", "br"))
		}
	}
	return append(all, []request{
		{method: "GET", path: "/pets?limit=2"},
		{method: "GET", path: "/pets?limit=0&x=1"},
		{method: "GET", path: "/pets?limit=2&cursor=nonsense"},
		{method: "GET", path: "/pets?id=1"},
		with(request{method: "GET", path: "/pets?limit=30"}, "Accept-Encoding", "gzip"),
		with(request{method: "HEAD", path: "/pets?limit=30"}, "Accept-Encoding", "gzip, br"),
		with(request{method: "GET", path: "/pets?limit=30"}, "Accept-Encoding", "gzip;q=0"),
		{method: "GET", path: "/pets/99"},
		{method: "GET", path: "/pets/x"},
		{method: "GET", path: "/pets/"},
		{method: "GET", path: "/pets//1"},
		{method: "GET", path: "/pets/../pets"},
		{method: "GET", path: "/petsandmore"},
		{method: "GET", path: "/store/"},
		{method: "PUT", path: "/pets", body: `{}`},
		{method: "PATCH", path: "/account", body: `{}`},
		{method: "POST", path: "/inventory/1"},
		{method: "POST", path: "/pets"},
		{method: "POST", path: "/store/orders", body: `{"petId":1,"quantity":1000}`},
		{method: "GET", path: "/pets", key: "tiny"},
		{method: "GET", path: "/pets?x=1", key: "tiny"},
		{method: "GET", path: "/pets", key: "tiny"},
		{method: "HEAD", path: "/pets", key: "tiny"},
		{method: "GET", path: "/account", key: "tiny"},
	}...)
}
