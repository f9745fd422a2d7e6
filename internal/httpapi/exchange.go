package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/http1"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/ratelimit"
)

// An env is what all exchanges of an API share.
type env struct {
	log      *slog.Logger
	baseURL  string // put before the paths of links
	cursors  cursors
	statuses map[petstore.Code]int
}

// An exchange is one request with its response, as far as they have come. It is
// the ResponseWriter of the pages that others serve, so that what is logged and
// measured is what was sent.
type exchange struct {
	env *env
	w   http.ResponseWriter
	r   *http.Request
	ctx context.Context //nolint:containedctx // the request's, which goes on when the client goes away

	began     time.Time
	waited    time.Duration // for something to happen, which is no work
	id        string        // the request's
	malformed error         // why the request could not be parsed

	path  *path
	route *route // nil if the path has none for the method

	entry    *access.Entry[*ratelimit.Caller] // nil without a valid key
	keyErr   error                            // why there is none
	addr     netip.Addr
	decision ratelimit.Decision
	counted  bool
	operator *access.Token // of the operator's API

	pathID string // the id in the path as it was sent
	param  int64  // and as a number
	body   []byte

	ready  int    // the status of the response that is to be written when the steps are over; 0 if there is none
	answer []byte // its body
	shared bool   // which is shared with other requests
	shown  *representation
	breaks string // what becomes of the connection in place of the answer, of a sandbox.Fault; or ""

	status int
	sent   int64
	code   petstore.Code // of the error, for the log

	fields   http1.Fields // of the response, until they are sent or somebody asks for them as a map
	mapped   bool         // somebody did
	retained bool         // others had it as their ResponseWriter, and may still
}

// A route is one operation of the description, or one public page.
type route struct {
	method     string
	id         string        // the operationId
	scope      access.Scopes // all of which a key needs
	body       bodyKind
	query      []string // the parameters it knows
	handle     handler
	public     bool // needs no key and spends no quota
	open       bool // needs no key, and spends the quota of the caller's address
	triesKey   bool // of a public page: tries a key, and spends the quota of the caller's address
	free       bool // spends no quota
	cached     bool // its answers may be held while the workspace does not change
	streams    bool // may wait and go on for long: enters the gate itself, and may be answered with Server-Sent Events
	waits      bool // for somebody else: it is carried out beside the gates
	deprecated bool // with a last day
}

// A handler carries an operation out and answers it. Its error is answered by
// the pipeline.
type handler func(*exchange) error

// A bodyKind says what content a route takes.
type bodyKind uint8

const (
	noBody bodyKind = iota
	jsonBody
	optionalBody // JSON, or nothing, which is an object without members
	patchBody    // JSON or JSON merge patch
)

// A path has the routes of one pattern. The zero path has none.
type path struct {
	pattern string
	param   string // the name of its first id, or ""; newRouter takes it from the pattern
	text    bool   // the id is no number
	routes  []route
	allow   string
}

var exchanges = sync.Pool{New: func() any { return new(exchange) }}

// newExchange returns an exchange that release may give to others.
func newExchange(e *env, w http.ResponseWriter, r *http.Request, now time.Time) *exchange {
	x := exchanges.Get().(*exchange)
	x.env, x.w, x.r, x.began = e, w, r, now
	x.ctx = context.WithoutCancel(r.Context())
	return x
}

// release lets go of the request.
func (x *exchange) release() {
	if x.retained {
		return
	}
	if w, ok := x.w.(http1.FieldWriter); ok {
		w.Release()
	}
	x.fields.Reset()
	*x = exchange{fields: x.fields}
	exchanges.Put(x)
}

// workspace returns the id of the caller's, or 0 for an operator.
func (x *exchange) workspace() int64 {
	if x.entry == nil {
		return 0
	}
	return x.entry.Workspace.ID
}

// shop returns the id of the pets, orders, events and webhooks of the caller's workspace.
func (x *exchange) shop() int64 { return x.entry.Workspace.Shop }

// caller returns whose key it is, for the audit log.
func (x *exchange) caller() string { return "api:" + x.entry.Key.ID }

// address returns the path of the request, as links to it are written.
func (x *exchange) address() string {
	return strings.Replace(x.path.pattern, "{"+x.path.param+"}", url.PathEscape(x.pathID), 1)
}

// link returns the link to another part of what was asked for.
func (x *exchange) link(query, relation string) string {
	return "<" + x.env.baseURL + x.address() + "?" + query + `>; rel="` + relation + `"`
}

// Header, Write and WriteHeader make the exchange an http.ResponseWriter.
func (x *exchange) Header() http.Header {
	x.mapped = true
	h := x.w.Header()
	x.fields.MoveTo(h)
	return h
}

// WriteHeader sends the status and the header.
func (x *exchange) WriteHeader(status int) {
	if x.status == 0 && status >= 200 {
		x.status = status
	}
	if w, ok := x.w.(http1.FieldWriter); ok && !x.mapped {
		w.WriteFields(status, &x.fields)
		return
	}
	x.fields.MoveTo(x.w.Header())
	x.w.WriteHeader(status)
}

// Write sends a part of the body.
func (x *exchange) Write(p []byte) (int, error) {
	if x.status == 0 {
		x.WriteHeader(http.StatusOK)
	}
	n, err := x.w.Write(p)
	x.sent += int64(n)
	return n, err
}

// Unwrap is for http.ResponseController.
func (x *exchange) Unwrap() http.ResponseWriter { return x.w }

// set sets a header under the very name given: the documented spelling, where
// Header.Set would make it canonical.
func (x *exchange) set(name, value string) { x.fields.Set(name, value) }

// logFailure logs the cause of a failure, which is not sent to the client.
func (x *exchange) logFailure(err error) {
	x.env.log.ErrorContext(x.ctx, "request failed", "request_id", x.id, "err", err)
}
