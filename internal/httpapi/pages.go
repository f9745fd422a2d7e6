package httpapi

import (
	"net/http"
	"net/netip"
	"time"

	"example.com/petstore/api"
	"example.com/petstore/internal/access"
	"example.com/petstore/internal/http1"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/ratelimit"
)

// pages are what is not JSON of an operation: the description, and the pages for
// people, which others serve.
type pages struct {
	baseURL string
	docs    http.Handler
	console func(w http.ResponseWriter, r *http.Request, p *Page) // nil if there is none
	shared  *pipeline
	room    chan struct{} // for those who read the docs and the description
}

func (p pages) paths() []path {
	p.room = make(chan struct{}, maxReaders)
	docs := []route{{method: "GET", handle: p.bounded(p.serveDocs), public: true}}
	console := []route{{method: "GET", handle: p.serveConsole, public: true}, {method: "POST", handle: p.serveConsole, public: true}}
	return []path{
		{pattern: "/openapi.json", routes: []route{{method: "GET", handle: p.bounded(document("application/json", api.JSONAt(p.baseURL))), public: true}}},
		{pattern: "/openapi.yaml", routes: []route{{method: "GET", handle: p.bounded(document("application/yaml", api.YAMLAt(p.baseURL))), public: true}}},
		{pattern: "/docs", routes: docs},
		{pattern: "/docs/", routes: docs},
		{pattern: "/llms.txt", routes: docs},
		{pattern: "/console", routes: console},
		{pattern: "/console/", routes: console},
		{pattern: "/console/signin", routes: []route{
			{method: "GET", handle: p.serveConsole, public: true},
			{method: "POST", handle: p.serveConsole, public: true, guess: true},
		}},
	}
}

// maxReaders is how many answers of the docs and the description may be written
// at once. Clients without a key may take them as slowly as writeTimeout allows.
const maxReaders = 256

// bounded refuses while too many are at it.
func (p pages) bounded(handle handler) handler {
	return func(x *exchange) error {
		select {
		case p.room <- struct{}{}:
			defer func() { <-p.room }()
			return handle(x)
		default:
			return errOverloaded
		}
	}
}

// document answers with a file that everybody may read.
func document(contentType string, body []byte) handler {
	tag, zipped := petstore.TagOf(body), zip(body)
	return func(x *exchange) error {
		return x.sendTagged("W/", tag, contentType, body, func() []byte { return zipped })
	}
}

func (p pages) serveDocs(x *exchange) error {
	x.lent = true
	p.docs.ServeHTTP(x, x.r)
	return nil
}

func (p pages) serveConsole(x *exchange) error {
	if p.console == nil {
		return errNotFound
	}
	x.lent = true
	p.console(x, x.r.WithContext(petstore.OfRequest(x.r.Context(), x.id)), &Page{x, p.shared})
	return nil
}

var errNotFound = petstore.Errorf(codeRouteNotFound, "There is nothing at this path.")

// NotFound answers like a path that is not there. It is for the handler that
// Options.Docs is, on paths that it does not have, with the ResponseWriter that it
// was given.
func NotFound(w http.ResponseWriter, _ *http.Request) { w.(*exchange).fail(errNotFound) }

// A Page is what the console is given with a request: the one place in which
// requests are counted and kept few, so that its pages are no way around it. It
// holds until the request is answered.
type Page struct {
	x      *exchange
	shared *pipeline
}

// Wait returns 0, unless the request is an attempt to sign in from an address
// that has spent its requests: then how long to wait before another, and the
// attempt must be refused unheard.
func (p *Page) Wait() time.Duration {
	if !p.x.guesses() {
		return 0
	}
	return time.Duration(p.x.decision.RetryAfter) * time.Second
}

// Addr returns the address of the client.
func (p *Page) Addr() netip.Addr { return clientAddr(p.x.r, p.shared.auth.trusted) }

// Admit decides on one request of the key of a session, as on one of the API,
// and has the response and the log say so.
func (p *Page) Admit(e *access.Entry[*ratelimit.Caller]) ratelimit.Decision {
	x := p.x
	http1.Recognize(x.r.Context())
	x.entry, x.counted = e, true
	p.shared.meter.settle(x, p.shared.meter.limiter.Admit(x.ctx, e.Slot))
	return x.decision
}

// Show has the headers of the response describe a decision on the key of a
// session that was counted elsewhere, or not at all.
func (p *Page) Show(e *access.Entry[*ratelimit.Caller], d ratelimit.Decision) {
	http1.Recognize(p.x.r.Context())
	p.x.entry = e
	setLimits(p.x, &d)
}

// Enter waits for room among the reads or the writes, as an operation of the
// API does. Whoever was let in must leave.
func (p *Page) Enter(write bool) (leave func(), err error) {
	gate := p.shared.gates.reads
	if write {
		gate = p.shared.gates.writes
	}
	if !gate.enter() {
		return nil, errOverloaded
	}
	return gate.leave, nil
}
