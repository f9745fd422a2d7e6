package httpapi_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/http1/http1test"
	"example.com/petstore/internal/httpapi"
)

// TestPlainWayAnswersAsNetHTTP sends the same requests, in the same order, to two
// services: to one over net/http alone.
func TestPlainWayAnswersAsNetHTTP(t *testing.T) {
	t.Parallel()
	alone, plain := newTwin(t, true), newTwin(t, false)
	for _, r := range agreements() {
		want, got := alone.ask(r), plain.ask(r)
		if got.Status != want.Status || got.Body != want.Body || !slices.Equal(got.Lines, want.Lines) {
			t.Fatalf("%s %s %.60q %v is answered\n%d %q\n%s\nnet/http answers\n%d %q\n%s",
				r.method, clip(r.path), r.body, r.header, got.Status, got.Lines, got.Body, want.Status, want.Lines, want.Body)
		}
	}
	if got, want := plain.service.plain.Load(), int64(len(agreements())); got < want {
		t.Errorf("%d requests were plain, want all %d", got, want)
	}
}

// A twin is a service with the same content as another one, and a connection to it.
type twin struct {
	service *service
	wire    *http1test.Wire
	keys    map[string]string // by what the requests call them
	secrets *strings.Replacer // of what differs between twins
}

func newTwin(t *testing.T, alone bool) *twin {
	t.Helper()
	s := openService(t, func(o *httpapi.Options) { o.Secret = []byte("the same for both of them") })
	s.netHTTPOnly = alone
	defer s.plain.Store(0)
	s.stock()
	for range 30 {
		s.post("/pets", `{"name":"A name that repeats","categoryId":1}`).want(201, "")
	}
	w := &twin{service: s, keys: map[string]string{
		"all":     s.key,
		"reader":  s.addKey(s.workspace, access.Read, time.Time{}),
		"tiny":    s.addKey(s.addWorkspace("tiny", access.Quota{PerMinute: 2, PerDay: 100}), access.Read, time.Time{}),
		"expired": s.addKey(s.workspace, access.Read, s.clock.Now().Add(time.Second)),
		"unknown": wrongKey(s.key),
	}}
	s.clock.Advance(2 * time.Second)
	var differ []string
	for _, name := range []string{"all", "reader", "tiny"} {
		e, err := s.keys.Verify(w.keys[name])
		if err != nil {
			t.Fatal(err)
		}
		differ = append(differ, e.Key.ID, "ID", e.Key.Prefix, "PREFIX")
	}
	w.secrets = strings.NewReplacer(differ...)
	w.wire = s.dial(t)
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

// ask returns the answer without what may differ.
func (w *twin) ask(r request) http1test.Reply {
	w.service.t.Helper()
	if _, given := r.header["X-Request-Id"]; !given {
		if r.header == nil {
			r.header = map[string]string{}
		}
		r.header["X-Request-Id"] = "given"
	}
	if r.key != "-" && r.key != "" {
		r.key = w.keys[r.key]
	}
	w.wire.Send(r.text(w.service.key))
	a := w.wire.Next(r.method)
	if strings.Contains(r.header["X-Request-Id"], " ") { // the server makes one
		a.Body = strings.ReplaceAll(a.Body, a.Line("X-Request-Id"), "MADE")
	}
	for i, line := range a.Lines {
		switch name, value, _ := strings.Cut(line, ": "); {
		case name == "Date" && len(value) == len("Mon, 02 Jan 2006 15:04:05 GMT"):
			a.Lines[i] = "Date"
		case name == "X-Request-Id" && value != r.header["X-Request-Id"]:
			a.Lines[i] = "X-Request-Id"
		}
	}
	slices.Sort(a.Lines)
	a.Body = w.secrets.Replace(a.Body)
	return a
}

// dial opens a connection to the service.
func (s *service) dial(t *testing.T) *http1test.Wire {
	t.Helper()
	return http1test.Dial(t, strings.TrimPrefix(s.url, "http://"))
}

// text returns a request as it is sent.
func (r request) text(key string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: shop.example\r\n", r.method, r.path)
	if r.key == "" {
		r.key = key
	}
	if r.key != "-" {
		fmt.Fprintf(&b, "Authorization: Bearer %s\r\n", r.key)
	}
	if _, typed := r.header["Content-Type"]; r.body != "" && !typed {
		b.WriteString("Content-Type: application/json\r\n")
	}
	if r.body != "" {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(r.body))
	}
	names := slices.Sorted(maps.Keys(r.header))
	for _, name := range names {
		fmt.Fprintf(&b, "%s: %s\r\n", name, r.header[name])
	}
	return b.String() + "\r\n" + r.body
}

// agreements are requests of every kind that is answered without net/http:
// every operation, and what is refused on the way to it.
func agreements() []request {
	var all []request
	ids := make([]string, 0, 32)
	for id, r := range samples() {
		if httpapi.Plain(r.path) {
			ids = append(ids, id)
		}
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
