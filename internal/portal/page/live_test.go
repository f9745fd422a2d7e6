package page

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/fairshare"
	"example.com/petstore/internal/ratelimit"
	"example.com/petstore/internal/usage"
)

// A tenant is signed in to a workspace, may do everything, and waits for nothing.
type tenant struct {
	*Visit
	workspace int64
}

func (g tenant) Identify(*access.Session) error       { return nil }
func (g tenant) Admit(*Route) error                   { return nil }
func (g tenant) Readmit() error                       { return nil }
func (g tenant) AskAgain(Notice) error                { return nil }
func (g tenant) Enter(bool) (leave func(), err error) { return func() {}, nil }
func (g tenant) May(access.Scopes) bool               { return true }
func (g tenant) Locked() string                       { return "" }
func (g tenant) Workspace() int64                     { return g.workspace }
func (g tenant) Describe(*View)                       {}

// newTestSite returns a site without pages, on no store, that has so many live pages at once.
func newTestSite(t *testing.T, streams int64) *Site {
	t.Helper()
	s, err := New(Options{
		Access: struct{ access.Store }{}, Keys: new(access.Directory[*ratelimit.Caller]), Limiter: new(ratelimit.Limiter), Usage: new(usage.Recorder),
		Secret: make([]byte, 32), Now: time.Now, Log: slog.New(slog.DiscardHandler),
	}, Kind{Templates: templateFiles})
	if err != nil {
		t.Fatal(err)
	}
	s.streams = fairshare.New(fairshare.Options{Capacity: streams, Each: 20})
	return s
}

// A client reads a live page, or does not.
type client struct {
	*httptest.ResponseRecorder
	reads chan struct{} // nil, or closed once it reads what its page sends
	ended bool
}

// Write implements http.ResponseWriter.
func (c *client) Write(p []byte) (int, error) {
	if c.reads != nil && bytes.Contains(p, []byte("event:")) {
		<-c.reads
	}
	return c.ResponseRecorder.Write(p)
}

// follow opens a live page of the workspace until the test ends.
func (c *client) follow(t *testing.T, s *Site, workspace int64) {
	t.Helper()
	v := &Visit{Site: s, W: c, R: httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/console/live", nil)}
	v.guest = tenant{v, workspace}
	go func() {
		_ = v.Live(func(_ context.Context, s Stream) error { return s.Send("figures", 1) })
		v.send()
		c.ended = true
	}()
	synctest.Wait()
}

// TestStreamsGiveWay: the oldest live page of the workspace that has most ends when another one has none, at once, even
// while its client does not read.
func TestStreamsGiveWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, reads := newTestSite(t, 3), make(chan struct{})
		clients := []*client{{reads: reads}, {}, {}, {}, {}}
		for i, workspace := range []int64{1, 1, 1, 2, 1} {
			clients[i].ResponseRecorder = httptest.NewRecorder()
			clients[i].follow(t, s, workspace)
		}
		if body := clients[3].Body.String(); !bytes.Contains([]byte(body), []byte("event: figures")) {
			t.Errorf("the page of a workspace that has none gets %q", body)
		}
		if c := clients[4]; c.Code != http.StatusServiceUnavailable {
			t.Errorf("one more of a workspace that has two answers %d, want 503", c.Code)
		}
		close(reads)
		synctest.Wait()
		for i, want := range []bool{true, false, false, false, true} {
			if clients[i].ended != want {
				t.Errorf("the stream %d has ended: %t, want %t", i, clients[i].ended, want)
			}
		}
	})
}
