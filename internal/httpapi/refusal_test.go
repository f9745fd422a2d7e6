package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/httpapi"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/ratelimit"
)

// An attentiveStore waits until the client has closed its side, and gives a write up whose
// context can end.
type attentiveStore struct {
	petstore.Store
	closed <-chan struct{} // closed when the client has
}

func (s attentiveStore) Do(ctx context.Context, c *petstore.Change) (*petstore.Receipt, error) {
	<-s.closed
	if ctx.Done() != nil {
		return nil, petstore.Unavailable(errors.New("the context can end"))
	}
	return s.Store.Do(ctx, c)
}

// TestHalfClosedConnection sends a write and closes the sending side, as a
// client may: it is carried out and answered, whichever way it came.
func TestHalfClosedConnection(t *testing.T) {
	t.Parallel()
	for _, alone := range []bool{false, true} {
		t.Run(fmt.Sprint("net/http alone ", alone), func(t *testing.T) {
			t.Parallel()
			closed := make(chan struct{})
			s := openService(t, func(o *httpapi.Options) { o.Service = petstore.NewService(attentiveStore{o.Service.Store, closed}) })
			s.netHTTPOnly = alone
			w := s.dial(t)
			w.Send(request{method: "POST", path: "/categories", body: `{"name":"dogs"}`}.text(s.key))
			must(t, w.Conn.(*net.TCPConn).CloseWrite())
			close(closed)
			w.Want("POST", http.StatusCreated)
			s.get("/categories").want(200, "").is(`[{"id":1,"name":"dogs"}]`)
		})
	}
}

// TestBanSaysWhose checks that a client is blamed for what it did alone.
func TestBanSaysWhose(t *testing.T) {
	t.Parallel()
	s := openService(t)
	for by, want := range map[string]string{ratelimit.ByOperator: "by the operator", ratelimit.ByLimiter: "kept sending"} {
		key := s.addKey(s.workspace, access.Read, time.Time{})
		s.ban(s.idOfKey(key), by)
		a := s.do(request{method: "GET", path: "/pets", key: key}).want(429, "api_key_banned")
		if text := string(a.body); !strings.Contains(text, want) || strings.Contains(text, "secret") {
			t.Errorf("a ban by the %s says %s, want %q, and not the reason", by, text, want)
		}
	}
}

// TestPreflightsAreFree checks that no preflight counts, whatever its path, and
// that none is refused: a browser would hide the 429 from its script.
func TestPreflightsAreFree(t *testing.T) {
	t.Parallel()
	cfg := limits()
	cfg.AddressLimits = ratelimit.Limits{PerMinute: 1, PerDay: 10}
	s := openLimitedService(t, cfg)
	preflight := request{method: "OPTIONS", key: "-", header: map[string]string{
		"Origin": "https://shop.example", "Access-Control-Request-Method": "GET",
	}}
	for range 2 {
		for path, status := range map[string]int{"/pets": 204, "/nothing": 404, "/pets/.": 404} {
			preflight.path = path
			if a := s.do(preflight); a.status != status || remaining(t, a) != 1 {
				t.Errorf("%s = %d with %d remaining, want %d with 1", a.what, a.status, remaining(t, a), status)
			}
		}
	}
	s.do(request{method: "GET", path: "/nothing", key: "-"}).want(404, "route_not_found")
	preflight.path = "/pets"
	s.do(preflight).want(204, "")
}

// A slowKeys is a store in which no key can be looked for while it is slow.
type slowKeys struct {
	access.Store
	slow atomic.Bool
}

func (s *slowKeys) LiveKeys(ctx context.Context, ids []string, hashes []access.Hash) ([]access.Key, []access.Workspace, error) {
	if s.slow.Load() {
		return nil, nil, context.DeadlineExceeded
	}
	return s.Store.LiveKeys(ctx, ids, hashes)
}

// TestAKeyThatCannotBeLookedForIsNotCounted: who uses a key for the first time while the store is slow is told so, and
// the address has nothing to do with it.
func TestAKeyThatCannotBeLookedForIsNotCounted(t *testing.T) {
	t.Parallel()
	cfg := limits()
	cfg.AddressLimits = ratelimit.Limits{PerMinute: 1, PerDay: 100}
	var keys slowKeys
	s := openLimitedService(t, cfg, func(o *httpapi.Options) {
		keys.Store = o.Access
		o.Keys = access.NewDirectory(&keys, o.Now, attachTo(o.Limiter))
	})
	keys.slow.Store(true)
	for range 3 {
		a := s.get("/pets").want(503, "service_unavailable")
		if got := a.header.Get("X-RateLimit-Remaining"); got != "1" || a.header.Get("Retry-After") == "" {
			t.Errorf("a key that cannot be looked for leaves the address %s requests, want 1", got)
		}
	}
	s.do(request{method: "GET", path: "/pets", key: "-"}).want(401, "missing_api_key")
	s.get("/pets").want(503, "service_unavailable")
	keys.slow.Store(false)
	s.get("/pets").want(200, "")
}
