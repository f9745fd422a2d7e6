package httpapi_test

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/httpapi"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/ratelimit"
)

func TestSurfaceIsTheDescription(t *testing.T) {
	t.Parallel()
	var want []string
	for path, item := range contract(t).doc.Paths.Map() {
		for method, op := range item.Operations() {
			scopes, _ := op.Extensions["x-scopes"].([]any)
			want = append(want, fmt.Sprint(method, " ", path, " ", op.OperationID, " ", scopes))
		}
	}
	got := httpapi.Surface()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the routes are\n%s\nthe description has\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestUnknownPathsAndMethods(t *testing.T) {
	t.Parallel()
	s := openService(t)
	s.stock()
	for _, path := range []string{
		"/", "/nothing", "/pets/", "/pets/1/", "/pets/1/photos", "//pets", "/pets//1", "/Pets", "/v1/pets", "/pets/../pets", "/pets/.",
		"/%2e%2e/pets", "/store", "/store/orders/", "/docs/nothing", "/openapi.jsn", "/pets%2F1", "/pets/1%2F2/3", "/store%2Forders", "/webhooks/1/deliveries//retry",
	} {
		for _, method := range []string{"GET", "POST", "OPTIONS", "BREW"} {
			a := s.do(request{method: method, path: path})
			if strings.HasPrefix(path, "/docs/") && method != "GET" {
				continue
			}
			a.want(404, "route_not_found")
		}
	}
	for _, test := range []struct{ method, path, allow string }{
		{"DELETE", "/pets", "GET, HEAD, POST, OPTIONS"},
		{"POST", "/pets/1", "GET, HEAD, PUT, PATCH, DELETE, OPTIONS"},
		{"PUT", "/store/orders/1", "GET, HEAD, PATCH, DELETE, OPTIONS"},
		{"BREW", "/inventory", "GET, HEAD, OPTIONS"},
		{"TRACE", "/account", "GET, HEAD, OPTIONS"},
		{"POST", "/openapi.json", "GET, HEAD, OPTIONS"},
	} {
		a := s.do(request{method: test.method, path: test.path}).want(405, "method_not_allowed")
		if got := a.header.Get("Allow"); got != test.allow {
			t.Errorf("%s: Allow = %q, want %q", a.what, got, test.allow)
		}
		a = s.do(request{method: "OPTIONS", path: test.path}).want(204, "")
		if got := a.header.Get("Allow"); got != test.allow {
			t.Errorf("%s: Allow = %q, want %q", a.what, got, test.allow)
		}
	}
}

// TestWhatIsOff: there is nothing of what is not turned on.
func TestWhatIsOff(t *testing.T) {
	t.Parallel()
	s := openService(t, func(o *httpapi.Options) { o.Events, o.Webhooks = nil, nil })
	for _, r := range []request{
		{method: "GET", path: "/events"}, {method: "GET", path: "/events/1"}, {method: "GET", path: "/webhooks"}, {method: "GET", path: "/console"},
		{method: "POST", path: "/sandboxes", key: "-"}, {method: "POST", path: "/account/reset"},
	} {
		s.do(r).want(404, "route_not_found")
	}
	s.do(request{method: "GET", path: "/pets", header: simulate("code=internal_error")}).want(200, "")
}

// TestRootLeadsReadersToTheDocs: whoever opens the address of the service in a browser finds its pages; a program is told
// what it is told elsewhere.
func TestRootLeadsReadersToTheDocs(t *testing.T) {
	t.Parallel()
	s := openService(t)
	browser := map[string]string{"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
	for _, method := range []string{"GET", "HEAD"} {
		a := s.do(request{method: method, path: "/", header: browser}).want(302, "")
		if got := a.header.Get("Location"); got != "https://shop.example/v1/docs" {
			t.Errorf("%s: Location = %q, want the docs below the base URL", a.what, got)
		}
	}
	s.do(request{method: "POST", path: "/", header: browser}).want(404, "route_not_found")
	s.do(request{method: "GET", path: "/nothing", header: browser}).want(404, "route_not_found")
}

func TestHeadIsGetWithoutBody(t *testing.T) {
	t.Parallel()
	s := openService(t)
	s.stock()
	for _, path := range []string{"/pets", "/pets/1", "/pets/99", "/account", "/openapi.json", "/nothing"} {
		get, head := s.get(path), s.do(request{method: "HEAD", path: path})
		if head.status != get.status || len(head.body) != 0 {
			t.Errorf("HEAD %s = %d with %d bytes, GET = %d", path, head.status, len(head.body), get.status)
		}
		for _, name := range []string{"Content-Type", "ETag", "Cache-Control", "Deprecation"} {
			if got, want := head.header.Get(name), get.header.Get(name); got != want {
				t.Errorf("HEAD %s: %s = %q, GET has %q", path, name, got, want)
			}
		}
	}
}

func TestCORS(t *testing.T) {
	t.Parallel()
	s := openService(t)
	ask := request{method: "OPTIONS", path: "/pets/1", key: "-", header: map[string]string{
		"Origin": "https://shop.example", "Access-Control-Request-Method": "PATCH", "Access-Control-Request-Headers": "authorization",
	}}
	preflight := s.do(ask).want(204, "")
	for name, want := range map[string]string{
		"Access-Control-Allow-Origin":      "*",
		"Access-Control-Allow-Methods":     "GET, HEAD, PUT, PATCH, DELETE, OPTIONS",
		"Access-Control-Allow-Credentials": "",
	} {
		if got := preflight.header.Get(name); got != want {
			t.Errorf("preflight: %s = %q, want %q", name, got, want)
		}
	}
	if got := preflight.header.Get("Access-Control-Allow-Headers"); !strings.Contains(got, "Authorization") || !strings.Contains(got, "Idempotency-Key") {
		t.Errorf("preflight: Access-Control-Allow-Headers = %q", got)
	}
	a := s.do(request{method: "GET", path: "/pets", header: map[string]string{"Origin": "https://shop.example"}})
	exposed := strings.Split(a.header.Get("Access-Control-Expose-Headers"), ", ")
	for _, name := range []string{"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "Retry-After", "ETag", "Link", "X-Has-More", "Location", "Deprecation", "Sunset", "X-Request-Id"} {
		if !slices.Contains(exposed, name) {
			t.Errorf("%s is not exposed in %v", name, exposed)
		}
	}
}

func remaining(t testing.TB, a answer) int64 {
	t.Helper()
	n, err := strconv.ParseInt(a.header.Get("X-RateLimit-Remaining"), 10, 64)
	if err != nil {
		t.Fatalf("%s: X-RateLimit-Remaining = %q", a.what, a.header.Get("X-RateLimit-Remaining"))
	}
	return n
}

func TestGzip(t *testing.T) {
	t.Parallel()
	s := openService(t)
	s.stock()
	for range 30 {
		s.post("/pets", `{"name":"A name that repeats","categoryId":1}`).want(201, "")
	}
	plain := s.get("/pets?limit=33").want(200, "")
	zipped := s.do(request{method: "GET", path: "/pets?limit=33", header: map[string]string{"Accept-Encoding": "br, gzip"}}).want(200, "")
	if got := zipped.header.Get("Content-Encoding"); got != "gzip" {
		t.Fatalf("Content-Encoding = %q, want gzip", got)
	}
	z, err := gzip.NewReader(strings.NewReader(string(zipped.body)))
	must(t, err)
	if text, err := io.ReadAll(z); err != nil || string(text) != string(plain.body) {
		t.Errorf("the compressed list is %q (%v), want %q", text, err, plain.body)
	}
	if len(zipped.body) >= len(plain.body) {
		t.Errorf("compressed to %d bytes of %d", len(zipped.body), len(plain.body))
	}
	for _, accept := range []string{"identity", "gzip;q=0", "*;q=0"} {
		if a := s.do(request{method: "GET", path: "/pets?limit=33", header: map[string]string{"Accept-Encoding": accept}}); a.header.Get("Content-Encoding") != "" {
			t.Errorf("Accept-Encoding: %s got %s", accept, a.header.Get("Content-Encoding"))
		}
	}
	etag := zipped.header.Get("ETag")
	s.do(request{method: "GET", path: "/pets?limit=33", header: map[string]string{"If-None-Match": etag}}).want(304, "")
}

func TestWaysToSendAKey(t *testing.T) {
	t.Parallel()
	s := openService(t)
	other := s.addKey(s.workspace, access.Read, time.Time{})
	for _, test := range []struct {
		authorization, plain string
		status               int
		code                 string
	}{
		{"Bearer " + s.key, "", 200, ""},
		{"bearer  " + s.key, "", 200, ""},
		{"", s.key, 200, ""},
		{"Bearer " + s.key, s.key, 200, ""},
		{"Bearer " + s.key, other, 401, "invalid_api_key"},
		{"Bearer " + other, s.key, 401, "invalid_api_key"},
		{"Basic " + s.key, s.key, 401, "invalid_api_key"},
		{"Bearer", s.key, 200, ""},
		{"Basic " + s.key, "", 401, "invalid_api_key"},
		{s.key, "", 401, "invalid_api_key"},
		{"Bearer " + wrongKey(s.key), "", 401, "invalid_api_key"},
		{"Bearer", "", 401, "missing_api_key"},
		{"", "", 401, "missing_api_key"},
	} {
		header := map[string]string{}
		if test.authorization != "" {
			header["Authorization"] = test.authorization
		}
		if test.plain != "" {
			header["X-API-Key"] = test.plain
		}
		a := s.do(request{method: "GET", path: "/pets", key: "-", header: header}).want(test.status, test.code)
		if got := a.header.Get("WWW-Authenticate"); (got != "") != (test.status == 401) || got != "" && !strings.HasPrefix(got, "Bearer") {
			t.Errorf("%v: WWW-Authenticate = %q", header, got)
		}
	}
	s.do(request{method: "GET", path: "/pets?api_key=" + s.key, key: "-"}).want(401, "missing_api_key")
	s.do(request{method: "GET", path: "/pets", key: "-", header: map[string]string{"Cookie": "api_key=" + s.key}}).want(401, "missing_api_key")
}

// TestRequestID: the id of a request is the client's if it is short, plain and no key.
func TestRequestID(t *testing.T) {
	t.Parallel()
	s := openService(t)
	for id, kept := range map[string]bool{"abc-1._": true, strings.Repeat("a", 128): true, strings.Repeat("a", 129): false, "a b": false, "a/b": false, s.key: false} {
		a := s.do(request{method: "GET", path: "/pets", header: map[string]string{"X-Request-Id": id}})
		if got := a.header.Get("X-Request-Id"); got == "" || (got == id) != kept {
			t.Errorf("of the id %q the answer has %q", id, got)
		}
	}
}

// TestOrderOfChecks sends requests with several faults: the first in the order
// of the interface is answered.
func TestOrderOfChecks(t *testing.T) {
	t.Parallel()
	s := openService(t)
	s.stock()
	tiny := s.addKey(s.addWorkspace("tiny", access.Quota{PerMinute: 1, PerDay: 1}), access.Read, time.Time{})
	s.do(request{method: "GET", path: "/pets", key: tiny}).want(200, "")
	reader := s.addKey(s.workspace, access.Read, time.Time{})
	long := strings.Repeat("x", 9000)
	big := `{"quantity":` + strings.Repeat(" ", 70_000)
	text := map[string]string{"Content-Type": "text/plain"}
	textOnly := map[string]string{"Content-Type": "text/plain", "Accept": "text/plain"}
	stale := map[string]string{"If-Match": `"stale"`}
	for _, test := range []struct {
		r      request
		status int
		code   string
	}{
		{request{method: "GET", path: "/nothing?" + long, key: tiny}, 414, "uri_too_long"},
		{request{method: "GET", path: "/nothing", key: tiny}, 429, "rate_limit_exceeded"},
		{request{method: "BREW", path: "/nothing", key: "-"}, 404, "route_not_found"},
		{request{method: "BREW", path: "/pets", key: "-"}, 405, "method_not_allowed"},
		{request{method: "PATCH", path: "/inventory/99", key: "-", header: textOnly}, 401, "missing_api_key"},
		{request{method: "PATCH", path: "/inventory/99", key: reader, header: textOnly}, 403, "insufficient_scope"},
		{request{method: "PATCH", path: "/inventory/99", header: textOnly, body: big}, 406, "not_acceptable"},
		{request{method: "PATCH", path: "/inventory/99", header: text, body: big}, 415, "unsupported_media_type"},
		{request{method: "PATCH", path: "/inventory/99", body: big}, 413, "payload_too_large"},
		{request{method: "PATCH", path: "/inventory/99", body: `{"quantity":"1"`}, 400, "malformed_json"},
		{request{method: "PATCH", path: "/inventory/99", body: `{"quantity":"1"}`}, 400, "validation_failed"},
		{request{method: "PATCH", path: "/inventory/99", body: `{"quantity":1}`, header: stale}, 404, "pet_not_found"},
		{request{method: "DELETE", path: "/pets/1", header: stale}, 412, "precondition_failed"},
		{request{method: "DELETE", path: "/pets/1"}, 409, "pet_has_open_orders"},
	} {
		s.do(test.r).want(test.status, test.code)
	}
}

// TestRateLimit spends a small quota, is told how long to wait, and waits exactly as long.
func TestRateLimit(t *testing.T) {
	t.Parallel()
	s := openService(t)
	r := request{method: "GET", path: "/pets", key: s.addKey(s.addWorkspace("small", access.Quota{PerMinute: 3, PerDay: 1000}), access.Read, time.Time{})}
	for left := int64(2); left >= 0; left-- {
		if a := s.do(r).want(200, ""); remaining(t, a) != left {
			t.Errorf("%d requests remain, want %d", remaining(t, a), left)
		}
	}
	account := s.with(r.key, "GET", "/account", "").want(200, "")
	if !strings.Contains(string(account.body), `"minute":{"limit":3,"used":3,"remaining":0`) {
		t.Errorf("the account says %s", account.body)
	}
	s.clock.Advance(time.Second)
	refused := s.with(r.key, "GET", "/nothing", "").want(429, "rate_limit_exceeded")
	for name, want := range map[string]string{
		"X-RateLimit-Limit": "3", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": strconv.FormatInt(s.start.Unix()+61, 10), "Retry-After": "59",
		"RateLimit-Policy": `"minute";q=3;w=60, "day";q=1000;w=86400`, "RateLimit": `"minute";r=0;t=59, "day";r=997;t=52386`,
	} {
		if got := refused.header.Get(name); got != want {
			t.Errorf("429: %s = %q, want %q", name, got, want)
		}
	}
	s.clock.Advance(59*time.Second - time.Millisecond)
	s.do(r).want(429, "rate_limit_exceeded")
	s.clock.Advance(time.Millisecond)
	if a := s.do(r).want(200, ""); remaining(t, a) != 2 {
		t.Errorf("the new minute has %d remaining, want 2", remaining(t, a))
	}
}

// TestBanStarts: getAccount says how far a key is from a ban, until it is banned.
func TestBanStarts(t *testing.T) {
	t.Parallel()
	s := openService(t)
	r := request{method: "GET", path: "/pets", key: s.addKey(s.addWorkspace("tiny", access.Quota{PerMinute: 1, PerDay: 100}), access.Read, time.Time{})}
	wantLeft := func(want string) {
		t.Helper()
		if a := s.with(r.key, "GET", "/account", "").want(200, ""); !strings.Contains(string(a.body), `"strikesLeft":`+want) {
			t.Errorf("getAccount = %s, want %s strikes left", a.body, want)
		}
	}
	wantLeft("20")
	s.do(r).want(200, "")
	s.do(r).want(429, "rate_limit_exceeded")
	s.clock.Advance(3 * time.Second)
	for range 5 {
		s.do(r).want(429, "rate_limit_exceeded")
	}
	wantLeft("15")
	for range 15 {
		s.do(r)
	}
	a := s.do(r).want(429, "api_key_banned")
	if a.header.Get("Retry-After") != "120" || remaining(t, a) != 0 {
		t.Errorf("a ban with Retry-After %q and %d remaining, want 120 and none", a.header.Get("Retry-After"), remaining(t, a))
	}
	select {
	case b := <-s.bans:
		if b.Level != 1 || b.Until.Sub(b.From) != 2*time.Minute {
			t.Errorf("the ban is %+v, want level 1 for two minutes", b)
		}
	default:
		t.Error("nobody was told of the ban")
	}
	s.with(r.key, "GET", "/openapi.json", "").want(200, "")
}

// TestFailures: what fails is answered without its cause, which is in the log, and nothing is left of it.
func TestFailures(t *testing.T) {
	t.Parallel()
	s := openService(t)
	for cause, test := range map[error]struct {
		status    int
		code, log string
	}{
		errPanic:                        {500, "internal_error", "the store panics"},
		errBroken:                       {500, "internal_error", "the disk is on fire"},
		petstore.Unavailable(errBroken): {503, "service_unavailable", "the disk is on fire"},
		fmt.Errorf("wrapped: %w", petstore.Unavailable(errBroken)): {503, "service_unavailable", "wrapped"},
	} {
		mend := s.failWith(cause)
		for _, a := range []answer{s.get("/pets/1"), s.post("/categories", `{"name":"dogs"}`)} {
			a.want(test.status, test.code)
			if text := string(a.body); strings.Contains(text, test.log) || strings.Contains(text, ".go") || (a.header.Get("Retry-After") == "") != (test.status == 500) {
				t.Errorf("%v is answered %s, Retry-After %q", cause, text, a.header.Get("Retry-After"))
			}
		}
		mend()
		s.get("/pets").want(200, "")
		if log := s.log.String(); !strings.Contains(log, test.log) {
			t.Errorf("%q is not in the log:\n%s", test.log, log)
		}
	}
}

// TestPanicBeforeTheLimits checks that even then the headers are there, which
// do checks.
func TestPanicBeforeTheLimits(t *testing.T) {
	t.Parallel()
	s := openService(t, func(o *httpapi.Options) {
		o.Keys = access.NewDirectory(o.Access, o.Now, func(access.Workspace, access.Key, *ratelimit.Caller) *ratelimit.Caller { return nil })
	})
	s.get("/pets/1").want(500, "internal_error")
}

// TestUnparsable sends what net/http refuses by itself: it gets our answer.
func TestUnparsable(t *testing.T) {
	t.Parallel()
	s := openService(t)
	for _, test := range []struct {
		raw    string
		status int
		code   string
	}{
		{"GET /pets HTTP/1.1\r\n\r\n", 400, "invalid_parameter"},
		{"GET /pets HTTP/1.1\r\nHost: a\r\nBad Header: x\r\n\r\n", 400, "invalid_parameter"},
		{"nonsense\r\n\r\n", 400, "invalid_parameter"},
		{"GET /pets HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400, "invalid_parameter"},
		{"POST /pets HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", 400, "invalid_parameter"},
		{"GET /pets HTTP/1.1\r\nHost: a\r\nExpect: miracles\r\n\r\n", 400, "invalid_parameter"},
		{"GET /pets HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("x", 80<<10) + "\r\n\r\n", 431, "headers_too_large"},
		{"OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 204, ""},
		{"CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\nConnection: close\r\n\r\n", 404, "route_not_found"},
	} {
		a := s.raw(t, test.raw)
		checkEvery(t, a, request{})
		if got := a.code(); a.status != test.status || got != test.code {
			t.Errorf("%q = %d %s, want %d %s", clip(test.raw), a.status, got, test.status, test.code)
		}
	}
}

// raw sends bytes and reads the answer.
func (s *service) raw(t *testing.T, text string) answer {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	must(t, err)
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	go func() { _, _ = io.WriteString(c, text) }()
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatalf("%q: %v", clip(text), err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%q: %v", clip(text), err)
	}
	return answer{t: t, what: clip(text), status: resp.StatusCode, header: resp.Header, body: body}
}

// TestSpelling: header fields are spelled as they are documented.
func TestSpelling(t *testing.T) {
	t.Parallel()
	w := openService(t).dial(t)
	w.Send("GET /pets HTTP/1.1\r\nHost: a\r\n\r\n")
	a := w.Want("GET", 401)
	for _, name := range []string{"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "WWW-Authenticate"} {
		if a.Line(name) == "" {
			t.Errorf("no field is spelled %q in %q", name, a.Lines)
		}
	}
}

func TestDescriptionIsServed(t *testing.T) {
	t.Parallel()
	s := openService(t)
	for path, contentType := range map[string]string{"/openapi.json": "application/json", "/openapi.yaml": "application/yaml"} {
		a := s.do(request{method: "GET", path: path, key: "-"}).want(200, "")
		if got := a.header.Get("Content-Type"); got != contentType || !strings.Contains(string(a.body), "listPets") {
			t.Errorf("%s is %s of %d bytes", path, got, len(a.body))
		}
		s.do(request{method: "GET", path: path, key: "-", header: map[string]string{"If-None-Match": a.header.Get("ETag")}}).want(304, "")
	}
}
