package httpapi

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"example.com/petstore/internal/accept"
	"example.com/petstore/internal/access"
	"example.com/petstore/internal/fairshare"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/ratelimit"
)

// events are the operations on the feed of the caller's workspace.
type events struct {
	feed    petstore.Feed
	keys    *access.Directory[*ratelimit.Caller]
	now     func() time.Time
	done    <-chan struct{} // closed when the service is about to end
	reads   *fairshare.Pool // who waits for an event holds nothing of it
	streams *fairshare.Pool
	search  *fairshare.Pool // of one: a reader that looks behind events that it does not want
}

// paths returns none if no events are kept.
func (e *events) paths() []path {
	if e.feed == nil {
		return nil
	}
	return []path{
		{pattern: "/events", routes: []route{
			{method: "GET", id: "listEvents", scope: access.Read, handle: e.list, streams: true, query: []string{"after", "type", "limit", "wait"}},
		}},
		{pattern: "/events/{eventId}", routes: []route{
			{method: "GET", id: "getEvent", scope: access.Read, handle: get(e.feed.Event)},
		}},
	}
}

// maxWait is the most seconds that a request may wait for an event.
const maxWait = 30

func (e *events) list(x *exchange) error {
	p, err := parseQuery(x.r.URL.RawQuery, x.route.query)
	if err != nil {
		return err
	}
	f := &feedReader{events: e, x: x, q: petstore.EventQuery{After: p.number("after", 0, 0, 1<<63-1), Types: several(p, "type", petstore.EventTypes()), Limit: p.limit()}}
	f.q.Oldest = len(p.values["after"]) == 0
	wait := time.Duration(p.number("wait", 0, 0, maxWait)) * time.Second
	stream := accept.EventStream(x.r.Header["Accept"])
	if stream {
		f.lastEventID(p)
	}
	if err := p.err(); err != nil {
		return err
	}
	if stream {
		return f.stream()
	}
	page, err := f.wait(wait)
	if err != nil {
		return err
	}
	links := x.link(eventsAfter(p.values, page.Next), "next") + ", " + x.link(eventsAfter(p.values, page.Last), "last")
	return sendEntries(x, page.Events, links, page.More)
}

// eventsAfter returns the query for what comes after an event, with the other
// parameters as they were.
func eventsAfter(asked url.Values, after int64) string {
	query := maps.Clone(asked)
	query.Set("after", strconv.FormatInt(after, 10))
	return query.Encode()
}

// A feedReader reads on in a feed, for one request.
type feedReader struct {
	*events
	x *exchange
	q petstore.EventQuery

	behind bool // the last page had only events of other types, and there are more
}

// How often a feedReader does what nobody tells it to.
const (
	lookAgain = 2 * time.Second        // see petstore.Feed's Written
	lookAtKey = 500 * time.Millisecond // one that ended ends what goes on by it within a second
)

// read reads a page, and goes on behind it the next time. Of those who look for rare
// types in long feeds one at a time reads, so that the store is there for others.
func (f *feedReader) read() (petstore.EventPage, error) {
	if f.behind {
		turn, err := f.x.begin(f.x.r.Context(), f.search)
		if err != nil {
			return petstore.EventPage{}, err
		}
		defer turn.Leave()
	}
	share, err := f.x.begin(f.x.r.Context(), f.reads)
	if err != nil {
		return petstore.EventPage{}, err
	}
	defer share.Leave()
	page, err := f.feed.Events(f.x.ctx, f.x.shop(), f.q)
	if err == nil {
		f.q.After, f.q.Oldest = page.Next, false
		f.behind = page.More && len(page.Events) == 0
	}
	return page, err
}

// wait reads a page, and waits for one that has events for as long as it may.
func (f *feedReader) wait(timeout time.Duration) (petstore.EventPage, error) {
	if timeout == 0 || f.x.r.Method == http.MethodHead {
		return f.read()
	}
	f.extend(timeout)
	return f.next(timeout)
}

// next returns the first page that has events, or the last that was read when so
// much time is over or the request has to end.
func (f *feedReader) next(within time.Duration) (petstore.EventPage, error) {
	over := time.NewTimer(within)
	defer over.Stop()
	for {
		written := f.feed.Written(f.x.shop())
		page, err := f.read()
		if err != nil || len(page.Events) > 0 {
			return page, err
		}
		if f.behind {
			written = already
		}
		if !f.sleep(written, over.C) {
			return page, nil
		}
	}
}

var already = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// sleep returns true when it is time to read again, and false when that is over or
// the request has to end.
func (f *feedReader) sleep(written <-chan struct{}, over <-chan time.Time) bool {
	defer func(began time.Time) { f.x.waited += f.now().Sub(began) }(f.now())
	look, key := time.NewTimer(lookAgain), time.NewTicker(lookAtKey)
	defer look.Stop()
	defer key.Stop()
	for !f.ended() {
		select {
		case <-written:
			return true
		case <-look.C:
			return true
		case <-over:
			return false
		case <-key.C:
		case <-f.done:
		case <-f.x.r.Context().Done():
		}
	}
	return false
}

// ended reports whether the service, the client or the key is at its end.
func (f *feedReader) ended() bool {
	select {
	case <-f.done:
		return true
	case <-f.x.r.Context().Done():
		return true
	default:
	}
	e := f.keys.Entry(f.x.entry.Key.ID)
	return e == nil || e.Key.CheckHolder(f.now()) != nil
}

// extend lets the answer take that much longer than others, and the client be
// silent meanwhile. The deadlines of a socket are on the real clock.
func (f *feedReader) extend(by time.Duration) {
	c := http.NewResponseController(f.x.w)
	_ = c.SetReadDeadline(time.Time{}) // where there is none to set, none is needed
	_ = c.SetWriteDeadline(time.Now().Add(by + writeTimeout))
}

// Bounds on streams of events.
const (
	maxFeedStreams = 50               // that a workspace may have open
	streamBeat     = 15 * time.Second // between two signs of life
	streamPause    = 3000             // milliseconds after which a browser asks again
	streamPage     = 8                // events that are read and sent at once: an event may have 16 KiB
)

var errTooManyStreams = &petstore.Error{
	Code: codeTooManyStreams, RetryAfter: 10 * time.Second,
	Message: "The workspace has " + strconv.Itoa(maxFeedStreams) + " streams open already. End one, or wait as Retry-After says.",
}

// lastEventID reads where a stream goes on: a client that connects again sends it
// beside the after with which it began.
func (f *feedReader) lastEventID(p *query) {
	if text := f.x.r.Header.Get("Last-Event-ID"); text != "" {
		f.q.After, f.q.Oldest = p.integer("Last-Event-ID", text, 0, 1<<63-1), false
	}
}

// stream answers with Server-Sent Events (WHATWG HTML §9.2) until the service, the
// client or the key is at its end. What is wrong before the first one is answered
// as to any request. A store that is away is waited for.
func (f *feedReader) stream() error {
	x := f.x
	share, err := f.streams.Enter(x.ctx, x.holder(), 1, nil)
	if err != nil {
		return errTooManyStreams
	}
	defer share.Leave()
	f.q.Limit = min(f.q.Limit, streamPage)
	page, err := f.read()
	if err != nil {
		return err
	}
	x.set("Content-Type", "text/event-stream")
	x.set("X-Accel-Buffering", "no") // for proxies
	x.WriteHeader(http.StatusOK)
	if x.r.Method == http.MethodHead {
		return nil
	}
	for err = f.send(&page, fmt.Sprintf("retry: %d\n\n", streamPause)); err == nil && x.breaks == "" && !f.ended(); {
		if page, err = f.next(streamBeat); petstore.CodeOf(err) == petstore.CodeServiceUnavailable {
			f.sleep(nil, nil)
			err = nil
		} else if err == nil {
			err = f.send(&page, "")
		}
	}
	return nil // who goes on is told what was wrong
}

// send sends the events of a page, of which it leaves none, behind a beginning.
// Without any it sends a comment, and the id to go on from, of an event
// that the client did not want.
func (f *feedReader) send(page *petstore.EventPage, begin string) error {
	b := []byte(begin)
	for i := range page.Events {
		e := &page.Events[i]
		b = fmt.Appendf(b, "id: %d\nevent: %s\ndata: ", e.ID, e.Type)
		b = append(e.AppendJSON(b), "\n\n"...)
	}
	if len(page.Events) == 0 {
		b = fmt.Appendf(b, ":\nid: %d\n\n", f.q.After)
	}
	page.Events = nil // a client may take what is sent slowly
	f.extend(0)
	if _, err := f.x.Write(b); err != nil {
		return err
	}
	return http.NewResponseController(f.x.w).Flush()
}
