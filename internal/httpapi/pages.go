package httpapi

import (
	"net/http"
	"net/netip"
	"time"

	"example.com/petstore/api"
	"example.com/petstore/internal/accept"
	"example.com/petstore/internal/access"
	"example.com/petstore/internal/http1"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/ratelimit"
)

// pageRoutes returns the routes that are not operations: the OpenAPI description, the
// documentation and the console.
func (a *API) pageRoutes() []route {
	routes := []route{
		{at: "GET /openapi.json", handle: document("application/json", api.JSONAt(a.o.ServerURL))},
		{at: "GET /openapi.yaml", handle: document("application/yaml", api.YAMLAt(a.o.ServerURL))},
		{at: "GET /docs", handle: a.serveDocs},
		{at: "GET /docs/", handle: a.serveDocs},
		{at: "GET /llms.txt", handle: a.serveDocs},
		{at: "GET /console", handle: a.serveConsole},
		{at: "POST /console", handle: a.serveConsole},
		{at: "GET /console/", handle: a.serveConsole},
		{at: "POST /console/", handle: a.serveConsole},
		{at: "GET /console/signin", handle: a.serveConsole},
		{at: "POST /console/signin", handle: a.serveConsole, triesKey: true},
	}
	for i := range routes {
		routes[i].public = true
	}
	return routes
}

// document returns a handler that answers with a public file.
func document(contentType string, body []byte) handler {
	compressed := accept.Compress(body, accept.Fast)
	r := &representation{contentType: contentType, etag: weak(petstore.TagOf(body)), body: body, compressed: func() []byte { return compressed }}
	return func(x *exchange) error {
		x.shared = true
		return x.represent(r)
	}
}

func (a *API) serveDocs(x *exchange) error {
	a.o.Docs.ServeHTTP(x, x.r)
	return nil
}

func (a *API) serveConsole(x *exchange) error {
	if a.o.Console == nil {
		return errNotFound
	}
	a.o.Console(x, x.r.WithContext(petstore.OfRequest(x.r.Context(), x.id)), &ConsoleGate{x, a})
	return nil
}

var errNotFound = petstore.Errorf(codeRouteNotFound, "There is nothing at this path.")

// NotFound answers as for a path that does not exist. Options.Docs calls it for unknown
// paths, with the ResponseWriter that it was called with.
func NotFound(w http.ResponseWriter, _ *http.Request) { w.(*exchange).fail(errNotFound) }

// A ConsoleGate lets the console apply the API's limits to a request, so that its pages
// cannot be used to bypass them. It may be used until the request is answered.
type ConsoleGate struct {
	x   *exchange
	api *API
}

// Wait returns how long to wait before the next attempt to sign in, if the request is
// an attempt and its address has used up its requests. Then the attempt must be refused
// without checking the key. Otherwise it returns 0.
func (p *ConsoleGate) Wait() time.Duration {
	if !p.x.triesKey() {
		return 0
	}
	return time.Duration(p.x.decision.RetryAfter) * time.Second
}

// Addr returns the address of the client.
func (p *ConsoleGate) Addr() netip.Addr { return clientAddr(p.x.r, p.api.o.TrustedProxies) }

// Admit counts one request of a session's key and returns the limiter's decision, as
// for a request of the API. The decision is in the headers of the response and in the
// log.
func (p *ConsoleGate) Admit(e *access.Entry[*ratelimit.Caller]) ratelimit.Decision {
	x := p.x
	x.entry, x.counted = e, true
	p.api.apply(x, p.api.o.Limiter.Admit(e.Attachment))
	recognize(x)
	return x.decision
}

// Show sets the headers of the response to a decision on a session's key that was made
// elsewhere, or without counting.
func (p *ConsoleGate) Show(e *access.Entry[*ratelimit.Caller], d ratelimit.Decision) {
	p.x.entry = e
	setLimits(p.x, &d)
	if d.Outcome != ratelimit.Banned {
		recognize(p.x)
	}
}

// Hold counts size bytes that the page keeps in memory, such as a long form, until the
// request is answered. It returns an error if the client holds as much as it may.
func (p *ConsoleGate) Hold(size int64) error {
	if err := http1.Hold(p.x.w, size); err != nil {
		return errOverloaded
	}
	return nil
}

// Enter waits until another read or write may be carried out, as an operation of the
// API does. The caller must call leave.
func (p *ConsoleGate) Enter(write bool) (leave func(), err error) {
	in := p.api.reads
	if write {
		in = p.api.writes
	}
	share, err := p.x.begin(p.x.ctx, in)
	if err != nil {
		return nil, err
	}
	return share.Leave, nil
}
