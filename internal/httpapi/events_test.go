package httpapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/httpapi"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/processtest"
	"example.com/petstore/internal/ratelimit"
)

type event struct {
	ID        int64
	Type      string
	RequestID string
	Data      json.RawMessage
	Previous  json.RawMessage
}

// events returns those of an answer, one line for each.
func (a answer) events() string {
	a.t.Helper()
	var all []event
	if err := json.Unmarshal(a.body, &all); err != nil {
		a.t.Fatalf("%s: %v in %s", a.what, err, a.body)
	}
	var b strings.Builder
	for _, e := range all {
		fmt.Fprintf(&b, "%d %s %s\n", e.ID, e.Type, e.Data)
	}
	return b.String()
}

func (a answer) wantEvents(want string) answer {
	a.t.Helper()
	if got := a.want(200, "").events(); got != want {
		a.t.Fatalf("%s = \n%swant\n%s", a.what, got, want)
	}
	return a
}

// next returns the path of the next page.
func (a answer) next() string {
	a.t.Helper()
	path, _ := a.links()
	return path
}

// links returns the paths of the next page, and of what comes after the latest event.
func (a answer) links() (next, last string) {
	a.t.Helper()
	first, second, _ := strings.Cut(a.header.Get("Link"), ", ")
	path := func(link, relation string) string {
		link, ok := strings.CutSuffix(link, `>; rel="`+relation+`"`)
		path, whole := strings.CutPrefix(link, "<https://shop.example/v1")
		if !ok || !whole {
			a.t.Fatalf("%s: Link = %q", a.what, a.header.Get("Link"))
		}
		return path
	}
	return path(first, "next"), path(second, "last")
}

func TestEvents(t *testing.T) {
	t.Parallel()
	s := openService(t)
	s.do(request{method: "POST", path: "/categories", body: `{"name":"dogs"}`, header: map[string]string{"X-Request-Id": "r-1"}}).want(201, "")
	s.post("/pets", `{"name":"Rex","categoryId":1}`).want(201, "")
	const first, second, third = `1 category.created {"id":1,"name":"dogs"}` + "\n",
		`2 pet.created {"id":1,"name":"Rex","categoryId":1,"status":"available"}` + "\n",
		`3 inventory.created {"petId":1,"quantity":1,"status":"available"}` + "\n"
	s.get("/events").wantEvents(first + second + third)
	s.get("/events?after=2").wantEvents(third)
	s.get("/events?type=pet.created&type=category.created").wantEvents(first + second)
	page := s.get("/events?limit=2").wantEvents(first + second)
	if page.header.Get("X-Has-More") != "true" {
		t.Errorf("X-Has-More = %q, want true", page.header.Get("X-Has-More"))
	}
	if _, last := page.links(); last != "/events?after=3&limit=2" {
		t.Errorf("the feed ends at %s, want event 3", last)
	}
	page = s.get(page.next()).wantEvents(third)
	page = s.get(page.next()).wantEvents("")
	s.patch("/inventory/1", `{"quantity":5}`).want(200, "")
	s.get(page.next()).wantEvents(`4 inventory.updated {"petId":1,"quantity":5,"status":"available"}` + "\n")
	var e event
	if err := json.Unmarshal(s.get("/events/1").want(200, "").body, &e); err != nil || e.ID != 1 || e.RequestID != "r-1" {
		t.Errorf("getEvent = %+v, %v, want the request r-1", e, err)
	}
	if err := json.Unmarshal(s.get("/events/4").want(200, "").body, &e); err != nil || string(e.Previous) != `{"quantity":1}` {
		t.Errorf("getEvent = %s, %v, want the former quantity", e.Previous, err)
	}
	for path, code := range map[string]string{
		"after=-1": "out_of_range", "after=x": "invalid_type", "limit=0": "out_of_range", "wait=31": "out_of_range", "wait=x": "invalid_type",
		"type=pet.sold": "invalid_enum", "after=1&after=2": "invalid_format",
	} {
		name, _, _ := strings.Cut(path, "=")
		s.get("/events?"+path).want(400, "invalid_parameter").field(name, code)
	}
	head := s.do(request{method: "HEAD", path: "/events?after=4&wait=30"}).want(200, "")
	if len(head.body) > 0 {
		t.Errorf("HEAD has the body %s", head.body)
	}
}

// expireEvents makes a workspace whose first events are gone, and returns its key.
func (s *service) expireEvents() string {
	s.t.Helper()
	w := s.addWorkspace("expired", access.Quota{PerMinute: 1e9, PerDay: 1e9})
	key := s.addKey(w, access.Read|access.Write, time.Time{})
	s.do(request{method: "POST", path: "/categories", body: `{"name":"dogs"}`, key: key}).want(201, "")
	must(s.t, s.db.ResetWorkspace(s.t.Context(), w.ID, "test"))
	must(s.t, s.keys.Refresh(s.t.Context()))
	return key
}

// TestEventsExpired: who goes on from before the oldest event, or from beyond the newest, is
// told which that is, whichever way the feed is read.
func TestEventsExpired(t *testing.T) {
	t.Parallel()
	s := openService(t)
	key := s.expireEvents()
	s.do(request{method: "GET", path: "/events", key: key}).wantEvents("2 workspace.reset {}\n")
	for query, want := range map[string]string{
		"after=0": "the oldest that is kept has the id 2", "after=3": "the newest has the id 2", "after=3&wait=30": "the newest has the id 2",
		"after=9223372036854775807": "the newest has the id 2", "after=3&type=pet.created": "the newest has the id 2",
	} {
		for _, accept := range []string{"application/json", "text/event-stream"} {
			a := s.do(request{method: "GET", path: "/events?" + query, key: key, header: map[string]string{"Accept": accept}}).
				want(410, "events_expired").field("after", "out_of_range")
			if !strings.Contains(string(a.body), want) {
				t.Errorf("%s = %s, want %q in it", a.what, a.body, want)
			}
		}
	}
}

// TestEventsWait: who waits is answered when something comes, or when the service ends.
func TestEventsWait(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	s := openService(t, func(o *httpapi.Options) { o.Done = done })
	answers := make(chan answer, 2)
	go func() { answers <- s.get("/events?wait=30&type=pet.created") }()
	s.post("/categories", `{"name":"dogs"}`).want(201, "")
	s.post("/pets", `{"name":"Rex","categoryId":1}`).want(201, "")
	(<-answers).wantEvents(`2 pet.created {"id":1,"name":"Rex","categoryId":1,"status":"available"}` + "\n")
	go func() { answers <- s.get("/events?after=3&wait=30") }()
	close(done)
	(<-answers).wantEvents("")
}

// A silentFeed has no events.
type silentFeed struct{ petstore.Feed }

func (silentFeed) Events(context.Context, int64, petstore.EventQuery) (petstore.EventPage, error) {
	return petstore.EventPage{}, nil
}

func (silentFeed) Written(int64) <-chan struct{} { return nil }

// TestEventsWaitEnds: who waits in vain is answered when the time is over.
func TestEventsWaitEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := prepareService(t, limits(), func(o *httpapi.Options) { o.Events = silentFeed{} })
		began := time.Now()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/events?after=0&wait=30", nil)
		r.Header.Set("Authorization", "Bearer "+s.key)
		w := httptest.NewRecorder()
		s.api.ServeHTTP(w, r)
		answer{t: t, status: w.Code, body: w.Body.Bytes()}.wantEvents("")
		if took := time.Since(began); took != 30*time.Second {
			t.Errorf("the answer came after %v, want 30 s", took)
		}
	})
}

// A shortSighted feed is the real one, but looks at one event a page.
type shortSighted struct{ petstore.Feed }

func (s shortSighted) Events(ctx context.Context, ws int64, q petstore.EventQuery) (petstore.EventPage, error) {
	types := q.Types
	q.Types, q.Limit = nil, 1
	page, err := s.Feed.Events(ctx, ws, q)
	page.Events = slices.DeleteFunc(page.Events, func(e petstore.Event) bool { return !slices.Contains(types, e.Type) })
	return page, err
}

// TestRareEvents: who looks for what is rare in a long feed finds it, whichever way it waits.
func TestRareEvents(t *testing.T) {
	t.Parallel()
	s := openService(t, func(o *httpapi.Options) { o.Events = shortSighted{o.Events} })
	for i := range 10 {
		s.post("/categories", fmt.Sprintf(`{"name":"kind %d"}`, i)).want(201, "")
	}
	s.post("/pets", `{"name":"Rex","categoryId":1}`).want(201, "")
	s.follow("/events?after=0&type=pet.created", nil).want("id: 1", "id: 11", "event: pet.created", "data: ")
	s.get("/events?after=0&type=pet.created&wait=30").
		wantEvents(`11 pet.created {"id":1,"name":"Rex","categoryId":1,"status":"available"}` + "\n")
}

// A follow is an open stream of events.
type follow struct {
	t     testing.TB
	lines chan string // those of the stream, until it ends
	err   error       // of its end; valid when lines is closed
	end   context.CancelFunc
}

// follow opens a stream.
func (s *service) follow(path string, header map[string]string) *follow {
	s.t.Helper()
	ctx, end := context.WithCancel(s.t.Context())
	s.t.Cleanup(end)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+path, nil)
	must(s.t, err)
	req.Header.Set("Authorization", "Bearer "+s.key)
	req.Header.Set("Accept", "text/event-stream")
	for name, value := range header {
		req.Header.Set(name, value)
	}
	resp, err := noRedirects.Do(req)
	must(s.t, err)
	if kind := resp.Header.Get("Content-Type"); resp.StatusCode != http.StatusOK || kind != "text/event-stream" {
		body, _ := io.ReadAll(resp.Body)
		s.t.Fatalf("GET %s = %d %s %s, want a stream", path, resp.StatusCode, kind, body)
	}
	f := &follow{t: s.t, lines: make(chan string, 1000), end: end}
	go func() {
		defer close(f.lines)
		defer resp.Body.Close()
		in := bufio.NewScanner(resp.Body)
		for in.Scan() {
			f.lines <- in.Text()
		}
		f.err = in.Err()
	}()
	return f
}

// want fails the test unless these lines come next, comments and empty ones left
// out.
func (f *follow) want(lines ...string) {
	f.t.Helper()
	for _, want := range lines {
		for {
			got, open := f.line()
			if !open {
				f.t.Fatalf("the stream ended, want %q", want)
			}
			if got == "" || got[0] == ':' || strings.HasPrefix(got, "retry:") {
				continue
			}
			if !strings.HasPrefix(got, want) {
				f.t.Fatalf("the stream has %q, want %q", got, want)
			}
			break
		}
	}
}

func (f *follow) line() (string, bool) {
	f.t.Helper()
	select {
	case got, open := <-f.lines:
		return got, open
	case <-time.After(30 * time.Second):
		f.t.Fatal("nothing came")
		return "", false
	}
}

// ended fails the test unless the stream ends in good order, without another event.
func (f *follow) ended() {
	f.t.Helper()
	for {
		got, open := f.line()
		if !open {
			if f.err != nil {
				f.t.Fatalf("the stream ended with %v", f.err)
			}
			return
		}
		if strings.HasPrefix(got, "data:") {
			f.t.Fatalf("the stream has %q, want its end", got)
		}
	}
}

func TestEventStream(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	s := openService(t, func(o *httpapi.Options) { o.Done = done })
	s.post("/categories", `{"name":"dogs"}`).want(201, "")
	all := s.follow("/events", nil)
	all.want("id: 1", "event: category.created", `data: {"id":1,"type":"category.created","createdAt":"`)
	s.post("/categories", `{"name":"cats"}`).want(201, "")
	all.want("id: 2", "event: category.created", "data: ")
	s.follow("/events?after=0", map[string]string{"Last-Event-ID": "1"}).want("id: 2", "event: category.created", "data: ")
	pets := s.follow("/events?after=1&type=pet.created", nil)
	pets.want("id: 2") // which goes on behind what it does not want
	s.post("/pets", `{"name":"Rex","categoryId":1}`).want(201, "")
	pets.want("id: 3", "event: pet.created", "data: ")

	if n := s.api.Streams(); n != 3 {
		t.Errorf("%d streams are open, want 3", n)
	}
	pets.end()
	processtest.Eventually(t, "the stream is left", func() bool { return s.api.Streams() == 2 })
	close(done)
	all.want("id: 3", "event: pet.created", "data: ", "id: 4", "event: inventory.created", "data: ")
	all.ended()
	processtest.Eventually(t, "all streams are left", func() bool { return s.api.Streams() == 0 })
}

func TestEventStreamFaults(t *testing.T) {
	t.Parallel()
	s := openService(t)
	stream := map[string]string{"Accept": "text/event-stream"}
	s.do(request{method: "GET", path: "/events", header: map[string]string{"Accept": "text/event-stream", "Last-Event-ID": "99999999"}}).want(410, "events_expired")
	s.do(request{method: "GET", path: "/events?type=cat", header: stream}).want(400, "invalid_parameter")
	s.do(request{method: "GET", path: "/events", header: map[string]string{"Accept": "text/event-stream", "Last-Event-ID": "x"}}).
		want(400, "invalid_parameter").field("Last-Event-ID", "invalid_type")
	s.do(request{method: "GET", path: "/pets", header: stream}).want(406, "not_acceptable")
	if a := s.do(request{method: "HEAD", path: "/events", header: stream}); a.status != 200 || a.header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("HEAD = %d %s, want a stream's header", a.status, a.header.Get("Content-Type"))
	}
	for _, accept := range []string{"application/json, text/event-stream", "text/event-stream, application/json", "text/event-stream;q=0.1, */*", "*/*"} {
		s.do(request{method: "GET", path: "/events", header: map[string]string{"Accept": accept}}).wantEvents("")
	}
}

// TestEventStreamsEndWithTheirKey: by a revocation, by a ban and by its time.
func TestEventStreamsEndWithTheirKey(t *testing.T) {
	t.Parallel()
	s := openService(t)
	s.addKeyAs("key_Revoked000000001", s.workspace, access.Read, time.Time{})
	revoked := s.addKeyAs("key_Revoked000000002", s.workspace, access.Read, time.Time{})
	banned := s.addKey(s.workspace, access.Read, time.Time{})
	expires := s.addKey(s.workspace, access.Read, s.clock.Now().Add(time.Hour))
	one := s.follow("/events", map[string]string{"Authorization": "Bearer " + revoked})
	two := s.follow("/events", map[string]string{"Authorization": "Bearer " + banned})
	three := s.follow("/events", map[string]string{"Authorization": "Bearer " + expires})
	stays := s.follow("/events", nil)
	s.del("/keys/key_Revoked000000002").want(204, "")
	one.ended()
	s.ban(s.idOfKey(banned), ratelimit.ByOperator)
	two.ended()
	s.clock.Advance(2 * time.Hour)
	three.ended()
	s.post("/categories", `{"name":"dogs"}`).want(201, "")
	stays.want("id: 0", "id: 1", "event: category.created", "data: ")
}

// fillStreams opens as many streams as a workspace may have, and returns what ends
// them.
func (s *service) fillStreams() (end func()) {
	s.t.Helper()
	var all []*follow
	for range 50 {
		all = append(all, s.follow("/events", nil))
	}
	return func() {
		for _, f := range all {
			f.end()
		}
	}
}
