package httpapi

import (
	"bytes"
	"net/http"
	"net/netip"
	"runtime/debug"
	"strconv"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/ratelimit"
)

// An exchange is one request with its response, as far as they have come. It is
// the ResponseWriter of the pages that others serve, so that what is logged and
// measured is what was sent.
type exchange struct {
	api *API
	w   http.ResponseWriter
	r   *http.Request

	began time.Time
	id    string // the request's

	path  *path
	route *route // nil if the path has none for the method

	entry    *access.Entry[*ratelimit.Caller] // nil without a valid key
	keyErr   error                            // why there is none
	addr     netip.Addr
	decision ratelimit.Decision
	counted  bool

	pathID string // the id in the path as it was sent
	param  int64  // and as a number
	body   []byte // in buffer, until finish
	buffer *bytes.Buffer

	status int
	sent   int64
	code   petstore.Code // of the error, for the log

	fields  []field // of the header, until it is sent or somebody asks for it as a map
	text    []byte  // what the values of some of them are parts of
	scratch []byte  // for a body while it is made
	mapped  bool    // the header is w's map
}

// maxOwnFields is the most fields that an exchange holds before they go into a
// map.
const maxOwnFields = 24

// reset makes the exchange ready for a request. It keeps the room that one
// before had.
func (x *exchange) reset(api *API, w http.ResponseWriter, r *http.Request) {
	fields, text, scratch := x.fields, x.text, x.scratch
	if fields == nil {
		fields = make([]field, 0, maxOwnFields)
	}
	*x = exchange{api: api, w: w, r: r, began: api.Now(), fields: fields[:0], text: text[:0], scratch: scratch[:0]}
}

// clear lets go of the request.
func (x *exchange) clear() {
	clear(x.fields)
	if cap(x.text) > roomKept {
		x.text = nil
	}
	if cap(x.scratch) > roomKept {
		x.scratch = nil
	}
	*x = exchange{fields: x.fields[:0], text: x.text, scratch: x.scratch}
}

// roomKept is the most room of one kind that is kept for the next request, in
// bytes.
const roomKept = 64 << 10

// set sets a header under the very name given: the documented spelling, where
// Header.Set would make it canonical.
func (x *exchange) set(name, value string) {
	x.put(field{name: name, value: value})
}

// setText is set with the end of x.text, from the place from on, as the value.
func (x *exchange) setText(name string, from int) {
	x.put(field{name: name, from: from, to: len(x.text)})
}

// setNumber is set with a number in decimal.
func (x *exchange) setNumber(name string, n int64) {
	from := len(x.text)
	x.text = strconv.AppendInt(x.text, n, 10)
	x.setText(name, from)
}

func (x *exchange) put(f field) {
	for i := range x.fields {
		if x.fields[i].name == f.name {
			x.fields[i] = f
			return
		}
	}
	if len(x.fields) == cap(x.fields) || x.mapped {
		x.Header()[f.name] = []string{f.in(x.text)}
		return
	}
	x.fields = append(x.fields, f)
}

// Header, Write and WriteHeader make the exchange an http.ResponseWriter.
func (x *exchange) Header() http.Header {
	h := x.w.Header()
	if x.mapped {
		return h
	}
	x.mapped = true
	values := make([]string, len(x.fields))
	for i := range values {
		values[i] = x.fields[i].in(x.text)
		h[x.fields[i].name] = values[i : i+1 : i+1]
	}
	x.fields = x.fields[:0]
	return h
}

// WriteHeader sends the status and the header.
func (x *exchange) WriteHeader(status int) {
	if x.status == 0 && status >= 200 {
		x.status = status
	}
	if plain, ok := x.w.(*reply); ok && !x.mapped {
		plain.begin(status, x.fields, x.text, x.began.Unix())
		return
	}
	x.Header()
	x.w.WriteHeader(status)
}

// Write sends a part of the body.
func (x *exchange) Write(p []byte) (int, error) {
	if x.status == 0 {
		x.status = http.StatusOK
	}
	n, err := x.w.Write(p)
	x.sent += int64(n)
	return n, err
}

// Unwrap is for http.ResponseController.
func (x *exchange) Unwrap() http.ResponseWriter { return x.w }

// send writes the whole response.
func (x *exchange) send(status int, contentType string, body []byte) {
	x.set("Content-Type", contentType)
	x.setNumber("Content-Length", int64(len(body)))
	x.WriteHeader(status)
	if x.r.Method != http.MethodHead {
		_, _ = x.Write(body) // a client that is gone cannot be told
	}
}

// sendEmpty writes a response that has no body.
func (x *exchange) sendEmpty(status int) { x.WriteHeader(status) }

const (
	exposedHeaders = "X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, RateLimit, RateLimit-Policy, Retry-After, " +
		"X-Request-Id, ETag, Link, Location, Deprecation, Sunset, Idempotency-Replayed, WWW-Authenticate, Allow"
	allowedHeaders = "Authorization, X-API-Key, Content-Type, Accept, If-Match, If-None-Match, Idempotency-Key, X-Request-Id"
	contentPolicy  = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
	varyOn         = "Authorization, X-API-Key, Accept, Accept-Encoding, Origin"
)

// begin gives the response what every response has.
func (x *exchange) begin() {
	x.id = requestID(x.r.Header)
	x.set("X-Request-Id", x.id)
	x.set("X-Content-Type-Options", "nosniff")
	x.set("Content-Security-Policy", contentPolicy)
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
	if x.isLast() {
		x.set("Connection", "close")
	}
}

// isLast reports whether the connection must end after this request, because
// something before us may have read another length of it (RFC 9112 §6.1). Of one
// with both lengths net/http removes Content-Length, of one of HTTP/1.0
// Transfer-Encoding, and it would keep the connection. PRI is the preface of
// HTTP/2 in the wrong place, whose version is then not that of its framing.
func (x *exchange) isLast() bool {
	r := x.r
	return r.ProtoMajor == 1 && (r.ProtoMinor == 0 || len(r.TransferEncoding) > 0) || r.Method == "PRI"
}

// finish ends the exchange, after a panic too: it logs and measures.
func (x *exchange) finish() {
	if cause := recover(); cause != nil {
		if x.status != 0 || cause == http.ErrAbortHandler {
			defer panic(http.ErrAbortHandler) // the response is broken: break the connection too
		}
		x.panicked(cause)
	}
	if x.buffer != nil {
		bodies.Put(x.buffer)
	}
	x.report(x.api.Now().Sub(x.began))
}

func (x *exchange) panicked(cause any) {
	if cause == http.ErrAbortHandler {
		return
	}
	x.api.Log.ErrorContext(x.r.Context(), "panic", "request_id", x.id, "panic", cause, "stack", string(debug.Stack()))
	if x.status == 0 {
		if x.decision == (ratelimit.Decision{}) { // it came before the limiter's
			x.decision = x.api.Limiter.PeekAddress(x.r.Context(), clientAddr(x.r, x.api.TrustedProxies))
			x.limitHeaders(&x.decision)
		}
		x.fail(&petstore.Error{Code: codeInternalError, Message: internalErrorMessage})
	}
}
