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

// TestPlainWayAnswersAsNetHTTP sends the same requests, in the same order, to two services: to one over net/http alone.
func TestPlainWayAnswersAsNetHTTP(t *testing.T) {
	t.Parallel()
	var answers [2][]string
	for i := range answers {
		s := openService(t, func(o *httpapi.Options) { o.Secret = []byte("the same for both of them") })
		s.netHTTPOnly = i == 0
		s.stock()
		tiny := s.addKey(s.addWorkspace("tiny", access.Quota{PerMinute: 2, PerDay: 100}), access.Read, time.Time{})
		e, err := s.keys.Verify(s.key)
		must(t, err)
		alike := strings.NewReplacer(e.Key.ID, "ID", e.Key.Prefix, "PREFIX") // what differs between them
		keys, before := map[string]string{"tiny": tiny, "unknown": wrongKey(s.key), "-": "-"}, s.plain.Load()
		for _, r := range agreements() {
			r.key, r.header = keys[r.key], maps.Clone(r.header)
			r.header["X-Request-Id"] = "given"
			a := s.do(r)
			a.header.Del("Date")
			answers[i] = append(answers[i], fmt.Sprint(a.what, a.status, a.header, alike.Replace(string(a.body))))
		}
		if got := s.plain.Load() - before; i == 1 && got != int64(len(answers[i])) {
			t.Errorf("%d requests were plain, want all %d", got, len(answers[i]))
		}
	}
	for i, want := range answers[0] {
		if got := answers[1][i]; got != want {
			t.Errorf("the plain way: %s\nnet/http: %s", got, want)
		}
	}
}

// agreements are requests of every kind that is answered without net/http: every operation, and what is refused on the way
// to it.
func agreements() (all []request) {
	with := func(r request, name, value string) { r.header = map[string]string{name: value}; all = append(all, r) }
	samples := samples()
	for _, id := range slices.Sorted(maps.Keys(samples)) {
		r := samples[id]
		if !httpapi.Plain(r.path) {
			continue
		}
		r.header = map[string]string{}
		head, odd, unknown, keyless := r, r, r, r
		head.method, odd.body, unknown.key, keyless.key = "HEAD", "{", "unknown", "-"
		all = append(all, r, r, unknown, keyless) // the second one may meet another state
		with(r, "Accept", "text/html")
		with(r, "Origin", "https://a.example")
		if r.method == "GET" {
			all = append(all, head)
			with(r, "If-None-Match", "*")
			with(r, "If-None-Match", "odd")
		} else {
			with(r, "If-Match", `"other"`)
			with(r, "Idempotency-Key", "k")
			with(r, "Idempotency-Key", "k")
		}
		if r.body != "" {
			all = append(all, odd)
			with(r, "Content-Type", "text/plain")
		}
	}
	with(request{method: "GET", path: "/pets?limit=30"}, "Accept-Encoding", "gzip")
	for _, path := range []string{"/pets?limit=2", "/pets?limit=0&x=1", "/pets/99", "/pets/x", "/pets/", "/pets//1", "/petsandmore", "/store/"} {
		all = append(all, request{method: "GET", path: path, header: map[string]string{}})
	}
	for _, r := range []request{{method: "GET", path: "/pets"}, {method: "GET", path: "/pets?x=1"}, {method: "GET", path: "/pets"}, {method: "HEAD", path: "/pets"}} {
		r.key, r.header = "tiny", map[string]string{}
		all = append(all, r)
	}
	return append(all, request{method: "PATCH", path: "/account", body: `{}`, header: map[string]string{}}, request{method: "POST", path: "/pets", header: map[string]string{}})
}

// wrongKey returns a key whose checksum does not fit.
func wrongKey(key string) string {
	last := len(key) - 1
	if key[last] == 'x' {
		return key[:last] + "y"
	}
	return key[:last] + "x"
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
