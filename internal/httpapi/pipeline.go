package httpapi

import (
	"net/http"
	"time"

	"example.com/petstore/internal/accept"
	"example.com/petstore/internal/access"
	"example.com/petstore/internal/http1"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/ratelimit"
	"example.com/petstore/internal/sandbox"
)

// A pipeline is what every request goes through, whatever transport it came by.
type pipeline struct {
	env      env
	now      func() time.Time
	router   router
	auth     authenticator
	limits   rateLimiter
	sunset   sunset
	workload workload
	cache    *cache
	observer observer

	store     access.Store
	sandboxes *sandbox.Service // nil if there are none
	done      <-chan struct{}  // closed when the service is about to end
}

// run answers a request. malformed is why it could not be parsed, or nil.
func (p *pipeline) run(w http.ResponseWriter, r *http.Request, malformed error) {
	x := newExchange(&p.env, w, r, p.now())
	x.malformed = malformed
	x.run(p.steps, p.report)
}

// steps are all the steps of a request, in the order that the interface lays
// down. No step looks back. Each error is answered by run.
func (p *pipeline) steps(x *exchange) error {
	defer p.describeLimits(x)
	setCommon(x)
	p.find(x)
	oversized := checkSizes(x.r)
	p.auth.identify(x)
	if p.limits.decide(x, oversized != nil); oversized != nil {
		return oversized
	}
	if err := refusal(x); err != nil {
		return err
	}
	recognize(x)
	http1.Begin(x.w, x.r)
	if x.malformed != nil {
		return x.malformed
	}
	if x.route == nil {
		return answerWithoutRoute(x)
	}
	if err := authorize(x); err != nil {
		return err
	}
	if err := p.simulate(x); err != nil {
		return err
	}
	if x.route.deprecated {
		if err := p.sunset.check(x); err != nil {
			return err
		}
	}
	if x.route.public {
		x.retained = true
		return x.route.handle(x)
	}
	if err := readInput(x); err != nil {
		return err
	}
	if err := p.authorizeAgain(x); err != nil {
		return err
	}
	if err := p.settle(x); err != nil {
		return err
	}
	return p.carryOut(x)
}

const (
	exposedHeaders = "X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, RateLimit, RateLimit-Policy, Retry-After, " +
		"X-Request-Id, ETag, Link, X-Has-More, Location, Deprecation, Sunset, Idempotency-Replayed, WWW-Authenticate, Allow, Petstore-Simulated"
	allowedHeaders = "Authorization, X-API-Key, Content-Type, Accept, If-Match, If-None-Match, Idempotency-Key, X-Request-Id, Petstore-Simulate, *" // * is not for Authorization
	contentPolicy  = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
	varyOn         = "Authorization, X-API-Key, Accept, Accept-Encoding, Origin"
)

// setBasics gives the response what every response has, the operator's too.
func setBasics(x *exchange) {
	x.id = requestID(x.r.Header)
	x.set("X-Request-Id", x.id)
	x.set("X-Content-Type-Options", "nosniff")
	x.set("Content-Security-Policy", contentPolicy)
}

// setCommon gives the response what every response of the API has.
func setCommon(x *exchange) {
	setBasics(x)
	x.set("Access-Control-Allow-Origin", "*")
	x.set("Vary", varyOn)
	if x.r.Method == http.MethodGet || x.r.Method == http.MethodHead {
		x.set("Cache-Control", "private, no-cache")
	} else {
		x.set("Cache-Control", "no-store")
	}
	if x.r.Header["Origin"] != nil {
		x.set("Access-Control-Expose-Headers", exposedHeaders)
	}
	if x.r.TLS != nil {
		x.set("Strict-Transport-Security", "max-age=31536000")
	}
	if isLast(x.r) {
		x.set("Connection", "close")
	}
}

// isLast reports whether the connection must end after this request, because
// something before us may have read another length of it (RFC 9112 §6.1). Of one
// with both lengths net/http removes Content-Length, of one of HTTP/1.0
// Transfer-Encoding, and it would keep the connection. PRI is the preface of
// HTTP/2 in the wrong place, whose version is then not that of its framing.
func isLast(r *http.Request) bool {
	return r.ProtoMajor == 1 && (r.ProtoMinor == 0 || len(r.TransferEncoding) > 0) || r.Method == "PRI"
}

// find notes the path and the route, and gives every answer of a deprecated
// operation its notices.
func (p *pipeline) find(x *exchange) {
	x.path, x.pathID = p.router.find(x.r.URL)
	x.route = x.path.route(x.r.Method)
	x.r.Pattern = x.path.pattern // for who traces
	if x.route != nil && x.route.deprecated {
		p.sunset.announce(x)
	}
}

// answerWithoutRoute answers what has no operation: OPTIONS, and paths and
// methods that are not there.
func answerWithoutRoute(x *exchange) error {
	switch {
	case x.r.Method == http.MethodOptions && x.r.RequestURI == "*":
		x.set("Allow", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS")
		x.sendEmpty(http.StatusNoContent)
		return nil
	case x.r.URL.Path == "/" && accept.HTML(x.r.Header["Accept"]) && (x.r.Method == http.MethodGet || x.r.Method == http.MethodHead):
		x.set("Location", x.env.baseURL+"/docs")
		x.sendEmpty(http.StatusFound)
		return nil
	case len(x.path.routes) == 0:
		return petstore.Errorf(codeRouteNotFound, "There is nothing at this path. The operations are described at /openapi.json.")
	}
	x.set("Allow", x.path.allow)
	if x.r.Method != http.MethodOptions {
		return petstore.Errorf(codeMethodNotAllowed, "This path supports %s.", x.path.allow)
	}
	if x.preflight() {
		x.set("Access-Control-Allow-Methods", x.path.allow)
		x.set("Access-Control-Allow-Headers", allowedHeaders)
		x.set("Access-Control-Max-Age", "7200")
	}
	x.sendEmpty(http.StatusNoContent)
	return nil
}

var errNotAcceptable = petstore.Errorf(codeNotAcceptable, "The response would be application/json, which Accept does not allow.")

// readInput checks what the request says of its own form, reads the body and the
// id of the path, and refuses unknown parameters, in this order.
func readInput(x *exchange) (err error) {
	if types := x.r.Header["Accept"]; !accept.JSON(types) && !(x.route.streams && accept.EventStream(types)) {
		return errNotAcceptable
	}
	if err := checkMedia(x); err != nil {
		return err
	}
	if err := readBody(x); err != nil {
		return err
	}
	if name := x.path.param; name != "" && !x.path.text {
		if x.param, err = readID(name, x.pathID); err != nil {
			return err
		}
	}
	if raw := x.r.URL.RawQuery; raw != "" && x.route.query == nil {
		q, err := parseQuery(raw, nil)
		if err != nil {
			return err
		}
		return q.err()
	}
	return nil
}

// heldLong is how long a key may be known already when its body has come. A key
// that ends is refused on every node within as long.
const heldLong = time.Second

// authorizeAgain refuses a request whose body took long, if its key has ended or
// was banned meanwhile.
func (p *pipeline) authorizeAgain(x *exchange) error {
	if x.body == nil || p.now().Sub(x.began) <= heldLong {
		return nil
	}
	p.auth.identify(x)
	if err := authorize(x); err != nil {
		return err
	}
	if d := p.limits.limiter.Peek(x.entry.Attachment); d.Outcome == ratelimit.Banned {
		p.limits.apply(x, d)
	}
	return refusal(x)
}

// carryOut has the operation answer the request, unless there is too much to do
// already. The answer is sent later, when nothing is held.
func (p *pipeline) carryOut(x *exchange) error {
	if x.route.streams || x.route.waits {
		return x.route.handle(x)
	}
	if x.route.cached {
		return p.cache.answer(x, p.admit)
	}
	return p.admit(x)
}

// admit has the operation answer the request when there is room for it.
func (p *pipeline) admit(x *exchange) error {
	share, err := x.begin(x.ctx, p.workload.of(x.route.method))
	if err != nil {
		return err
	}
	defer share.Leave()
	if x.route.method != http.MethodGet {
		x.ctx = petstore.OfRequest(x.ctx, x.id)
		if x.entry != nil {
			x.ctx = petstore.ByKey(x.ctx, x.entry.Key.ID)
		}
	}
	return x.route.handle(x)
}

// describeLimits gives a response that has no decision, because of a panic, the
// headers that every one has.
func (p *pipeline) describeLimits(x *exchange) {
	if x.decision == (ratelimit.Decision{}) {
		p.limits.apply(x, p.limits.limiter.PeekAddress(clientAddr(x.r, p.auth.trusted)))
	}
}

// report logs and measures an exchange that is over.
func (p *pipeline) report(x *exchange) { p.observer.report(x, p.now().Sub(x.began)-x.waited) }
