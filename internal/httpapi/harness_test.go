package httpapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/http1"
	"example.com/petstore/internal/httpapi"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/processtest"
	"example.com/petstore/internal/ratelimit"
	"example.com/petstore/internal/store/sqlite"
	"example.com/petstore/internal/store/storetest"
	"example.com/petstore/internal/webhook"
)

// A store is what a service keeps all that it has in.
type store interface {
	petstore.Store
	petstore.Bulk
	access.Store
	petstore.Feed
	webhook.Store
	Secret(ctx context.Context) ([]byte, error)
}

// startOfService is when a service opens.
var startOfService = time.Date(2026, 3, 14, 9, 26, 53, 589e6, time.UTC)

// A service is a running server on a fresh store, with one workspace on a plan wide enough
// not to matter.
type service struct {
	t       testing.TB
	url     string
	api     *httpapi.API
	db      store
	keys    *access.Directory[*ratelimit.Caller]
	limiter *ratelimit.Limiter
	start   time.Time // when it opened
	clock   *storetest.Clock
	fault   *faultyStore
	log     *processtest.Buffer
	bans    chan ratelimit.Ban

	netHTTPOnly bool         // nothing is answered on the connection
	plain       atomic.Int64 // how many requests were

	workspace access.Workspace
	key       string // with every scope

	described *description
	sends     string // the key or token of requests that name none
}

// A faultyStore is the real store, of which reading a pet and writing fails while fault is
// set.
type faultyStore struct {
	petstore.Store
	fault atomic.Pointer[error]
	hold  atomic.Pointer[chan struct{}] // if set, Do waits for it to close
}

// holdWrites makes every write wait for release.
func (s *faultyStore) holdWrites() (release func()) {
	held := make(chan struct{})
	s.hold.Store(&held)
	return func() {
		s.hold.Store(nil)
		close(held)
	}
}

func (s *faultyStore) err() error {
	if e := s.fault.Load(); e != nil {
		return *e
	}
	return nil
}

func (s *faultyStore) Pet(ctx context.Context, ws, id int64) (petstore.StockedPet, error) {
	return guarded(s, func() (petstore.StockedPet, error) { return s.Store.Pet(ctx, ws, id) })
}

func (s *faultyStore) Do(ctx context.Context, c *petstore.Change) (*petstore.Receipt, error) {
	if held := s.hold.Load(); held != nil {
		<-*held
	}
	return guarded(s, func() (*petstore.Receipt, error) { return s.Store.Do(ctx, c) })
}

func guarded[T any](s *faultyStore, read func() (T, error)) (T, error) {
	if err := s.err(); err != nil {
		if err == errPanic { //nolint:errorlint // the very value
			panic("the store panics")
		}
		var none T
		return none, err
	}
	return read()
}

// openService starts a service. Options may be changed before it starts.
func openService(t testing.TB, change ...func(*httpapi.Options)) *service {
	t.Helper()
	return openLimitedService(t, limits(), change...)
}

func openLimitedService(t testing.TB, cfg ratelimit.Config, change ...func(*httpapi.Options)) *service {
	t.Helper()
	s := prepareService(t, cfg, change...)
	server := httptest.NewUnstartedServer(nil)
	server.Config = s.api.Server()
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Listener = s.front(server.Config).Listener(server.Listener)
	server.Start()
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

// front returns what stands before the server: it counts the requests that may be
// plain.
func (s *service) front(server *http.Server) *http1.Front {
	return http1.New(server, http1.Options{Malformed: s.api.Malformed, NotPlain: httpapi.NotPlain, Plain: func(path string) bool {
		if s.netHTTPOnly || !httpapi.Plain(path) {
			return false
		}
		s.plain.Add(1)
		return true
	}})
}

// prepareService returns a service that nobody serves yet.
func prepareService(t testing.TB, cfg ratelimit.Config, change ...func(*httpapi.Options)) *service {
	t.Helper()
	s := &service{t: t, start: startOfService, clock: storetest.NewClock(startOfService), log: &processtest.Buffer{}, bans: make(chan ratelimit.Ban, 16)}
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "petstore.db"), sqlite.Options{Now: s.clock.Now})
	must(t, err)
	t.Cleanup(func() { _ = db.Close() })
	s.db, s.fault = db, &faultyStore{Store: db}
	s.limiter = ratelimit.New(cfg, s.clock.Now)
	s.keys = access.NewDirectory(db, s.clock.Now, attachTo(s.limiter))
	secret, err := db.Secret(t.Context())
	must(t, err)
	o := httpapi.Options{
		Service: petstore.NewService(s.fault), Access: db, Keys: s.keys, Limiter: s.limiter, Version: db.PetVersion, Secret: secret,
		Events: db, Webhooks: s.webhooks(db),
		Sunset: time.Date(2030, 12, 5, 0, 0, 0, 0, time.UTC), Now: s.clock.Now,
		OnBan:   func(b ratelimit.Ban) { s.bans <- b },
		Observe: func(context.Context, httpapi.Observation) {},
		Reads:   128, Writes: 512,
		Docs:    http.HandlerFunc(httpapi.NotFound),
		Log:     slog.New(slog.NewJSONHandler(s.log, nil)),
		BaseURL: "https://shop.example/v1",
	}
	for _, c := range change {
		c(&o)
	}
	if s.api, err = httpapi.New(o); err != nil {
		t.Fatal(err)
	}
	s.workspace = s.addWorkspace("shop", access.Quota{PerMinute: 1e9, PerDay: 1e9})
	s.key = s.addKey(s.workspace, access.Read|access.Write|access.Manage, time.Time{})
	s.described, s.sends = contract(t), s.key
	return s
}

// attachTo returns a function that attaches a limiter's handles to keys.
func attachTo(l *ratelimit.Limiter) func(access.Workspace, access.Key, *ratelimit.Caller) *ratelimit.Caller {
	return func(w access.Workspace, k access.Key, before *ratelimit.Caller) *ratelimit.Caller {
		return l.Caller(before, w.ID, k.ID, ratelimit.Limits(w.Quota), (*ratelimit.Ban)(k.Ban))
	}
}

// ban bans a key for an hour, for a reason that is secret.
func (s *service) ban(id, by string) {
	s.t.Helper()
	now := s.clock.Now()
	must(s.t, access.SetBan(s.t.Context(), s.db, access.Ban{KeyID: id, From: now, Until: now.Add(time.Hour), Reason: "secret", By: by}, "test"))
	must(s.t, s.keys.Refresh(s.t.Context()))
}

func limits() ratelimit.Config {
	return ratelimit.Config{
		Strikes: 20, StrikeWindow: time.Minute, Grace: 2 * time.Second, FirstBan: 2 * time.Minute, MaxBan: 24 * time.Hour,
		AddressLimits: ratelimit.Limits{PerMinute: 1e9, PerDay: 1e9}, Addresses: 1024,
	}
}

func (s *service) addWorkspace(name string, q access.Quota) access.Workspace {
	s.t.Helper()
	w, err := s.db.CreateWorkspace(s.t.Context(), access.Workspace{Name: name, Plan: access.Enterprise, Quota: q, CreatedAt: s.clock.Now()}, "test")
	must(s.t, err)
	return w
}

// revoke revokes a key, as the operator.
func (s *service) revoke(id string) error {
	return access.Keyring{Store: s.db, Now: s.clock.Now, By: "test"}.Revoke(s.t.Context(), id, petstore.Condition{})
}

// addKey returns a key that works at once.
func (s *service) addKey(w access.Workspace, scopes access.Scopes, expires time.Time) string {
	s.t.Helper()
	return s.addKeyAs(access.MintID(), w, scopes, expires)
}

func (s *service) addKeyAs(id string, w access.Workspace, scopes access.Scopes, expires time.Time) string {
	s.t.Helper()
	text, prefix := access.Mint()
	k := access.Key{
		ID: id, WorkspaceID: w.ID, Name: "test", Prefix: prefix, Hash: access.HashOf(text),
		Scopes: scopes, CreatedAt: s.clock.Now(), ExpiresAt: expires,
	}
	if _, err := s.db.MakeKey(s.t.Context(), access.KeyRequest{Key: k, By: "test"}); err != nil {
		s.t.Fatal(err)
	}
	must(s.t, s.keys.Refresh(s.t.Context()))
	return text
}

// failWith makes the store fail with err until the returned function is called.
func (s *service) failWith(err error) (mend func()) {
	s.fault.fault.Store(&err)
	return func() { s.fault.fault.Store(nil) }
}

var errPanic = errors.New("panic instead")

var errBroken = errors.New("the disk is on fire")

// A request is what a client sends; the zero members are left out.
type request struct {
	method, path string
	body         string
	header       map[string]string
	key          string // "-" for none; what the service sends by default
}

// An answer is what came back.
type answer struct {
	t      testing.TB
	what   string
	status int
	header http.Header
	body   []byte
}

// do sends a request and returns the answer, with bodies in JSON by default.
func (s *service) do(r request) answer {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), r.method, s.url+r.path, strings.NewReader(r.body))
	must(s.t, err)
	if r.key == "" {
		r.key = s.sends
	}
	if r.key != "-" {
		req.Header.Set("Authorization", "Bearer "+r.key)
	}
	if r.body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for name, value := range r.header {
		req.Header.Set(name, value)
	}
	resp, err := noRedirects.Do(req)
	if err != nil {
		s.t.Fatalf("%s %s: %v", r.method, r.path, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatalf("%s %s: %v", r.method, r.path, err)
	}
	a := answer{t: s.t, what: r.method + " " + clip(r.path) + " " + clip(r.body), status: resp.StatusCode, header: resp.Header, body: body}
	s.described.every(s.t, a, r)
	s.described.check(s.t, req, r.body, a)
	return a
}

func clip(s string) string { return s[:min(len(s), 120)] }

var noRedirects = &http.Client{
	Transport:     &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 64},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// checkEvery checks what holds for every response.
func checkEvery(t testing.TB, a answer, r request) {
	t.Helper()
	for _, name := range []string{
		"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "RateLimit", "RateLimit-Policy",
		"X-Request-Id", "X-Content-Type-Options", "Content-Security-Policy", "Cache-Control", "Access-Control-Allow-Origin",
	} {
		if a.header.Get(name) == "" {
			t.Errorf("%s: %d without %s", a.what, a.status, name)
		}
	}
	if a.status < 400 || r.method == "HEAD" {
		return
	}
	var e struct {
		Code, Message, RequestID string
		Status                   int
	}
	if err := json.Unmarshal(a.body, &e); err != nil {
		t.Errorf("%s: %d with a body that is not an Error: %q", a.what, a.status, a.body)
	}
	if e.Status != a.status || e.Code == "" || e.Message == "" || e.RequestID != a.header.Get("X-Request-Id") {
		t.Errorf("%s: %d with the error %s", a.what, a.status, a.body)
	}
	if got := a.header.Get("Content-Type"); got != "application/json" {
		t.Errorf("%s: %d as %q, want application/json", a.what, a.status, got)
	}
}

// want fails the test unless the answer has the status and, for an error, the
// code.
func (a answer) want(status int, code string) answer {
	a.t.Helper()
	if got := a.code(); a.status != status || got != code {
		a.t.Fatalf("%s = %d %s, want %d %s\n%s", a.what, a.status, got, status, code, a.body)
	}
	return a
}

// field fails the test unless the error names pointer or parameter with code.
func (a answer) field(name, code string) answer {
	a.t.Helper()
	for _, f := range a.errors() {
		if (f.Pointer == name || f.Parameter == name) && f.Code == code {
			return a
		}
	}
	a.t.Errorf("%s = %s, want an error of %q with %s", a.what, a.body, name, code)
	return a
}

type fieldError struct{ Pointer, Parameter, Code, Message string }

func (a answer) errors() []fieldError {
	var e struct{ Errors []fieldError }
	_ = json.Unmarshal(a.body, &e)
	return e.Errors
}

func (a answer) code() string {
	var e struct{ Code string }
	if a.status >= 400 {
		_ = json.Unmarshal(a.body, &e)
	}
	return e.Code
}

// id returns the id of the resource in the body.
func (a answer) id() int64 {
	a.t.Helper()
	var r struct{ ID int64 }
	if err := json.Unmarshal(a.body, &r); err != nil || r.ID == 0 {
		a.t.Fatalf("%s: no id in %s", a.what, a.body)
	}
	return r.ID
}

// is fails the test unless the body is this.
func (a answer) is(body string) answer {
	a.t.Helper()
	if string(a.body) != body {
		a.t.Fatalf("%s = %s, want %s", a.what, a.body, body)
	}
	return a
}

func (s *service) get(path string) answer { return s.do(request{method: "GET", path: path}) }

func (s *service) post(path, body string) answer {
	return s.do(request{method: "POST", path: path, body: body})
}

func (s *service) patch(path, body string) answer {
	return s.do(request{method: "PATCH", path: path, body: body})
}

func (s *service) put(path, body string) answer {
	return s.do(request{method: "PUT", path: path, body: body})
}

func (s *service) del(path string) answer { return s.do(request{method: "DELETE", path: path}) }

// must ends the test if err is not nil.
var must = processtest.Must
