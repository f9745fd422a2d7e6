package httpapi

import (
	"net/http"
	"time"

	"example.com/petstore/internal/accept"
	"example.com/petstore/internal/http1"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/ratelimit"
)

// run answers a request. malformed is why it could not be parsed, or nil.
func (a *API) run(w http.ResponseWriter, r *http.Request, malformed error) {
	x := newExchange(&a.env, w, r)
	x.malformed = malformed
	x.run(a.steps)
}

// steps carries out all the steps of a request, in the documented order. Errors are
// answered by exchange.run.
func (a *API) steps(x *exchange) error {
	defer a.describeLimits(x)
	setCommon(x)
	a.find(x)
	oversized := checkSizes(x.r, x.plain != nil)
	a.identify(x)
	if a.decide(x, oversized != nil); oversized != nil {
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
	if err := a.simulate(x); err != nil {
		return err
	}
	if x.route.deprecated {
		if err := a.sunset.check(x); err != nil {
			return err
		}
	}
	if x.route.public {
		return x.route.handle(x)
	}
	if err := readInput(x); err != nil {
		return err
	}
	if err := a.authorizeAgain(x); err != nil {
		return err
	}
	if err := a.useCurrentShop(x); err != nil {
		return err
	}
	return a.carryOut(x)
}

const (
	exposedHeaders = "X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, RateLimit, RateLimit-Policy, Retry-After, " +
		"X-Request-Id, ETag, Link, X-Has-More, Location, Deprecation, Sunset, Idempotency-Replayed, WWW-Authenticate, Allow, Petstore-Simulated"
	allowedHeaders = "Authorization, X-API-Key, Content-Type, Accept, If-Match, If-None-Match, Idempotency-Key, X-Request-Id, Petstore-Simulate, *" // * is not for Authorization
	contentPolicy  = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
	varyOn         = "Authorization, X-API-Key, Accept, Accept-Encoding, Origin"
)

// setBasics sets the header fields of every response, also of the operator's API.
func setBasics(x *exchange) {
	x.id = requestID(x.r.Header)
	x.set("X-Request-Id", x.id)
	x.set("X-Content-Type-Options", "nosniff")
	x.set("Content-Security-Policy", contentPolicy)
}

// setCommon sets the header fields of every response of the API.
func setCommon(x *exchange) {
	setBasics(x)
	x.set("Access-Control-Allow-Origin", "*")
	x.set("Vary", varyOn)
	if x.reads() {
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

// isLast reports whether the connection must be closed after this request, because a
// proxy may have understood its length differently (RFC 9112 §6.1): it has a
// Transfer-Encoding, or is of HTTP/1.0. net/http would keep the connection. PRI is the
// preface of HTTP/2 after a request of HTTP/1.1.
func isLast(r *http.Request) bool {
	return r.ProtoMajor == 1 && (r.ProtoMinor == 0 || len(r.TransferEncoding) > 0) || r.Method == "PRI"
}

// find sets the path and the route, and the header fields of a deprecated operation.
func (a *API) find(x *exchange) {
	a.router.find(x)
	if x.route != nil && x.route.deprecated {
		a.sunset.announce(x)
	}
}

// answerWithoutRoute answers requests without an operation: OPTIONS, and unknown paths
// and methods.
func answerWithoutRoute(x *exchange) error {
	switch {
	case x.r.Method == http.MethodOptions && x.r.RequestURI == "*":
		x.set("Allow", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS")
		x.sendEmpty(http.StatusNoContent)
		return nil
	case x.r.URL.Path == "/" && accept.HTML(x.r.Header["Accept"]) && x.reads():
		x.set("Location", x.env.baseURL+"/docs")
		x.sendEmpty(http.StatusFound)
		return nil
	case len(x.path.routes) > 0 && x.preflight():
		x.set("Access-Control-Allow-Methods", x.path.allow)
		x.set("Access-Control-Allow-Headers", allowedHeaders)
		x.set("Access-Control-Max-Age", "7200")
	}
	return x.withoutRoute("/openapi.json")
}

// withoutRoute answers OPTIONS, and unknown paths and methods. description is where the
// operations are described.
func (x *exchange) withoutRoute(description string) error {
	if len(x.path.routes) == 0 {
		return petstore.Errorf(codeRouteNotFound, "There is nothing at this path. The operations are described at %s.", description)
	}
	x.set("Allow", x.path.allow)
	if x.r.Method != http.MethodOptions {
		return petstore.Errorf(codeMethodNotAllowed, "This path supports %s.", x.path.allow)
	}
	x.sendEmpty(http.StatusNoContent)
	return nil
}

var errNotAcceptable = petstore.Errorf(codeNotAcceptable, "The response would be application/json, which Accept does not allow.")

// readInput checks Accept and Content-Type, reads the body and the id of the path, and
// refuses unknown parameters, in this order.
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

// maxKeyAge is how long after a key was verified the request may still be carried out
// without verifying it again. It is also how long it takes until all nodes refuse a key
// that has ended.
const maxKeyAge = time.Second

// authorizeAgain checks the key again if reading the body took long, since the key may
// have ended or been banned meanwhile.
func (a *API) authorizeAgain(x *exchange) error {
	if x.body == nil || a.o.Now().Sub(x.began) <= maxKeyAge {
		return nil
	}
	a.identify(x)
	if err := authorize(x); err != nil {
		return err
	}
	if d := a.o.Limiter.Peek(x.entry.Attachment); d.Outcome == ratelimit.Banned {
		a.apply(x, d)
	}
	return refusal(x)
}

// carryOut has the operation answer the request. The answer is sent later, when no
// share of the workload is held.
func (a *API) carryOut(x *exchange) error {
	if x.route.streams || x.route.waits {
		return x.route.handle(x)
	}
	if x.route.cached {
		return a.cache.answer(x, a.admit)
	}
	return a.admit(x)
}

// admit waits for a share of the workload, and has the operation answer the request.
func (a *API) admit(x *exchange) error {
	in := a.reads
	if !x.reads() {
		in, x.ctx = a.writes, petstore.OfRequest(x.ctx, x.id)
		if x.entry != nil {
			x.ctx = petstore.ByKey(x.ctx, x.entry.Key.ID)
		}
	}
	share, err := x.begin(x.ctx, in)
	if err != nil {
		return err
	}
	defer share.Leave()
	return x.route.handle(x)
}

// describeLimits sets the rate limit header fields if there is no decision because of a
// panic.
func (a *API) describeLimits(x *exchange) {
	if x.decision == (ratelimit.Decision{}) {
		a.apply(x, a.o.Limiter.PeekAddress(clientAddr(x.r, a.o.TrustedProxies)))
	}
}
