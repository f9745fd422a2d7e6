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
	serverURL string
	docs      http.Handler
	console   func(w http.ResponseWriter, r *http.Request, p *ConsoleGate) // nil if there is none
	shared    *pipeline
}

func (p pages) paths() []path {
	docs := []route{{method: "GET", handle: p.serveDocs, public: true}}
	console := []route{{method: "GET", handle: p.serveConsole, public: true}, {method: "POST", handle: p.serveConsole, public: true}}
	return []path{
		{pattern: "/openapi.json", routes: []route{{method: "GET", handle: document("application/json", api.JSONAt(p.serverURL)), public: true}}},
		{pattern: "/openapi.yaml", routes: []route{{method: "GET", handle: document("application/yaml", api.YAMLAt(p.serverURL)), public: true}}},
		{pattern: "/docs", routes: docs},
		{pattern: "/docs/", routes: docs},
		{pattern: "/llms.txt", routes: docs},
		{pattern: "/console", routes: console},
		{pattern: "/console/", routes: console},
		{pattern: "/console/signin", routes: []route{
			{method: "GET", handle: p.serveConsole, public: true},
			{method: "POST", handle: p.serveConsole, public: true, triesKey: true},
		}},
	}
}

// document answers with a file that everybody may read.
func document(contentType string, body []byte) handler {
	zipped := zip(body)
	r := &representation{contentType: contentType, weak: "W/", tag: petstore.TagOf(body), body: body, zipped: func() []byte { return zipped }}
	return func(x *exchange) error {
		x.shared = true
		return x.represent(r)
	}
}

func (p pages) serveDocs(x *exchange) error {
	p.docs.ServeHTTP(x, x.r)
	return nil
}

func (p pages) serveConsole(x *exchange) error {
	if p.console == nil {
		return errNotFound
	}
	p.console(x, x.r.WithContext(petstore.OfRequest(x.r.Context(), x.id)), &ConsoleGate{x, p.shared})
	return nil
}

var errNotFound = petstore.Errorf(codeRouteNotFound, "There is nothing at this path.")

// NotFound answers like a path that is not there. It is for the handler that
// Options.Docs is, on paths that it does not have, with the ResponseWriter that it
// was given.
func NotFound(w http.ResponseWriter, _ *http.Request) { w.(*exchange).fail(errNotFound) }

// A ConsoleGate is what the console is given with a request: the one place in which
// requests are counted and kept few, so that its pages are no way around it. It
// holds until the request is answered.
type ConsoleGate struct {
	x      *exchange
	shared *pipeline
}

// Wait returns 0, unless the request is an attempt to sign in from an address
// that has spent its requests: then how long to wait before another, and the
// attempt must be refused unheard.
func (p *ConsoleGate) Wait() time.Duration {
	if !p.x.triesKey() {
		return 0
	}
	return time.Duration(p.x.decision.RetryAfter) * time.Second
}

// Addr returns the address of the client.
func (p *ConsoleGate) Addr() netip.Addr { return clientAddr(p.x.r, p.shared.auth.trusted) }

// Admit decides on one request of the key of a session, as on one of the API,
// and has the response and the log say so.
func (p *ConsoleGate) Admit(e *access.Entry[*ratelimit.Caller]) ratelimit.Decision {
	x := p.x
	x.entry, x.counted = e, true
	p.shared.limits.apply(x, p.shared.limits.limiter.Admit(e.Attachment))
	recognize(x)
	return x.decision
}

// Show has the headers of the response describe a decision on the key of a
// session that was counted elsewhere, or not at all.
func (p *ConsoleGate) Show(e *access.Entry[*ratelimit.Caller], d ratelimit.Decision) {
	p.x.entry = e
	setLimits(p.x, &d)
	if d.Outcome != ratelimit.Banned {
		recognize(p.x)
	}
}

// Hold counts size bytes that the page keeps in memory, such as a long form, until
// the request is answered. The error says that the client has too much waiting.
func (p *ConsoleGate) Hold(size int64) error {
	if err := http1.Hold(p.x.w, size); err != nil {
		return errOverloaded
	}
	return nil
}

// Enter waits for room among the reads or the writes, as an operation of the
// API does. Whoever was let in must leave.
func (p *ConsoleGate) Enter(write bool) (leave func(), err error) {
	in := p.shared.workload.reads
	if write {
		in = p.shared.workload.writes
	}
	share, err := p.x.begin(p.x.ctx, in)
	if err != nil {
		return nil, err
	}
	return share.Leave, nil
}
