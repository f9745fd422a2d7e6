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
	"example.com/petstore/internal/petstore"
)

// eventRoutes returns the operations on the feed of the caller's workspace, if events are kept.
func (a *API) eventRoutes() []route {
	if a.o.Events == nil {
		return nil
	}
	return []route{
		{at: "GET /events", id: "listEvents", scope: access.Read, handle: a.listEvents, streams: true,
			query: []string{"after", "type", "limit", "wait"}},
		{at: "GET /events/{eventId}", id: "getEvent", scope: access.Read, handle: get(a.o.Events.Event)},
	}
}

// maxWait is the most seconds that a request may wait for an event.
const maxWait = 30

func (a *API) listEvents(x *exchange) error {
	p, err := parseQuery(x.r.URL.RawQuery, x.route.query)
	if err != nil {
		return err
	}
	f := &feedReader{API: a, x: x, q: petstore.EventQuery{After: p.number("after", 0, 0, 1<<63-1), Types: several(p, "type", petstore.EventTypes()), Limit: p.limit()}}
	f.q.Oldest = len(p.values["after"]) == 0
	wait := time.Duration(p.number("wait", 0, 0, maxWait)) * time.Second
	stream := accept.EventStream(x.r.Header["Accept"])
	// A client that reconnects sends this in addition to the first request's after, and it takes precedence.
	if id := x.r.Header.Get("Last-Event-ID"); stream && id != "" {
		f.q.After, f.q.Oldest = p.integer("Last-Event-ID", id, 0, 1<<63-1), false
	}
	if err := p.err(); err != nil {
		return err
	}
	if stream {
		return f.stream()
	}
	next := f.read
	if wait > 0 && x.r.Method != http.MethodHead {
		f.extend(wait)
		next = func() (petstore.EventPage, error) { return f.next(wait) }
	}
	page, err := next()
	if err != nil {
		return err
	}
	links := x.link(eventsAfter(p.values, page.Next), "next") + ", " + x.link(eventsAfter(p.values, page.Last), "last")
	return x.represent(pageOf(appendList(page.Events), links, page.More))
}

// eventsAfter returns the query for the events after one, with the other parameters
// unchanged.
func eventsAfter(asked url.Values, after int64) string {
	query := maps.Clone(asked)
	query.Set("after", decimal(after))
	return query.Encode()
}

// A feedReader reads pages of a feed, for one request.
type feedReader struct {
	*API
	x *exchange
	q petstore.EventQuery
}

// How often a feedReader that waits looks for changes by itself.
const (
	pollEvery     = 2 * time.Second        // for events; see petstore.Feed's Written
	checkKeyEvery = 500 * time.Millisecond // a key that ends must end the request within a second
)

// read reads the next page. It may have no events but be followed by more, if all of it
// were of other types.
func (f *feedReader) read() (petstore.EventPage, error) {
	share, err := f.x.begin(f.x.r.Context(), f.reads)
	if err != nil {
		return petstore.EventPage{}, err
	}
	defer share.Leave()
	page, err := f.o.Events.Events(f.x.ctx, f.x.shop(), f.q)
	if err == nil {
		f.q.After, f.q.Oldest = page.Next, false
	}
	return page, err
}

// next returns the first page that has events. When the time is over or the request has
// to end, it returns the last page that it read.
func (f *feedReader) next(within time.Duration) (petstore.EventPage, error) {
	over := time.NewTimer(within)
	defer over.Stop()
	for {
		written := f.o.Events.Written(f.x.shop())
		page, err := f.read()
		if err != nil || len(page.Events) > 0 {
			return page, err
		}
		pause := pollEvery
		if page.More {
			pause = 0
		}
		if !f.sleep(written, over.C, pause) {
			return page, nil
		}
	}
}

// sleep returns true when it is time to read again, after the pause at the latest, and false
// when the time is over or the request has to end.
func (f *feedReader) sleep(written <-chan struct{}, over <-chan time.Time, pause time.Duration) bool {
	defer func(began time.Time) { f.x.waited += f.o.Now().Sub(began) }(f.o.Now())
	look, key := time.NewTimer(pause), time.NewTicker(checkKeyEvery)
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
		case <-f.o.Done:
		case <-f.x.r.Context().Done():
		}
	}
	return false
}

// ended reports whether the request has to end: the service ends, the client has gone,
// or the key is no longer valid.
func (f *feedReader) ended() bool {
	select {
	case <-f.o.Done:
		return true
	case <-f.x.r.Context().Done():
		return true
	default:
	}
	e := f.o.Keys.Entry(f.x.entry.Key.ID)
	return e == nil || e.Key.CheckValid(f.o.Now()) != nil
}

// extend sets the deadlines of the connection so that the answer may take that much
// longer than others. They are on the real clock, not on Options.Now.
func (f *feedReader) extend(by time.Duration) {
	c := http.NewResponseController(f.x.w)
	_ = c.SetReadDeadline(time.Time{}) // if there is no deadline to set, none is needed
	_ = c.SetWriteDeadline(time.Now().Add(by + writeTimeout))
}

// Limits of event streams.
const (
	maxFeedStreams  = 50               // open at once, of a workspace
	streamHeartbeat = 15 * time.Second // between two comments, if there are no events
	streamPause     = 3000             // milliseconds after which a browser reconnects
	streamPage      = 8                // events that are read and sent at once: an event may have 16 KiB
)

var errTooManyStreams = &petstore.Error{
	Code: codeTooManyStreams, RetryAfter: 10 * time.Second,
	Message: "The workspace has " + strconv.Itoa(maxFeedStreams) + " streams open already. End one, or wait as Retry-After says.",
}

// stream answers with Server-Sent Events (WHATWG HTML §9.2) until the request has to
// end. Errors before the first event are answered as usual. While the store is
// unavailable, the stream waits.
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
		if page, err = f.next(streamHeartbeat); petstore.CodeOf(err) == petstore.CodeServiceUnavailable {
			f.sleep(nil, nil, pollEvery)
			err = nil
		} else if err == nil {
			err = f.send(&page, "")
		}
	}
	return nil // a client that reconnects gets the error, if it persists
}

// send sends begin and the events of a page, and sets these to nil. If there are none,
// it sends a comment and the id to continue from, which may be that of an event of
// another type.
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
	page.Events = nil // free them: the client may read slowly
	f.extend(0)
	if _, err := f.x.Write(b); err != nil {
		return err
	}
	return http.NewResponseController(f.x.w).Flush()
}
