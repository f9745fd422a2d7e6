package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/http1"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/ratelimit"
)

// An env is shared by all exchanges of an API.
type env struct {
	log      *slog.Logger
	failed   func(cause error) // gets the causes of failures instead of log; or nil
	baseURL  string            // put before the paths of links
	cursors  cursors
	statuses func() map[petstore.Code]int
	now      func() time.Time
	observe  func(context.Context, Observation)
	access   *AccessLog // nil if log takes the lines of requests
}

// An exchange is one request with its response. It is also the ResponseWriter for the
// handlers of pages, so that their answers are logged and measured too.
type exchange struct {
	env   *env
	w     http.ResponseWriter
	r     *http.Request
	plain http1.FieldWriter // w if http1 has read the request, else nil
	ctx   context.Context   //nolint:containedctx // the request's, without its cancellation: an operation goes on when the client disconnects

	began     time.Time
	waited    time.Duration // time spent waiting for events, or a simulated latency; not measured
	id        string        // the request's id
	malformed error         // why the request could not be parsed

	path  *path
	route *route // nil if the path does not support the method

	entry    *access.Entry[*ratelimit.Caller] // nil without a valid key
	keyErr   error                            // why there is none
	addr     netip.Addr
	decision ratelimit.Decision
	counted  bool
	operator *access.Token // of the operator's API

	pathID string // the id in the path as it was sent
	param  int64  // the same as a number
	body   []byte

	ready  int             // the status of the response that flush writes; 0 if there is none
	answer []byte          // the body of that response
	shared bool            // answer is shared with other requests
	shown  *representation // the answer to a GET
	held   []byte          // the same as the cache has it; answer may be a part of it
	breaks string          // the Connection of a sandbox.Fault: how the connection is broken off; or ""

	status int
	sent   int64
	code   petstore.Code // of the error, for the log

	fields http1.Fields // the header of the response, until it is sent or Header is called
	mapped bool         // Header was called
}

// A route is one operation of the description, or one public page.
type route struct {
	at         string        // the method and the pattern of the path
	id         string        // the operationId
	scope      access.Scopes // the key must have all of them
	body       bodyKind
	query      []string // the names of its parameters
	handle     handler
	public     bool // needs no key and spends no quota
	keyless    bool // needs no key, and spends the quota of the caller's address
	triesKey   bool // a public page on which a key is tried; spends the quota of the caller's address
	free       bool // spends no quota
	cached     bool // its answers may be cached
	streams    bool // may wait for events, or stream them; takes its share of the workload itself
	waits      bool // waits for another server, and takes no share of the workload
	deprecated bool // will end, see sunset
}

// A handler carries out an operation and answers it. If it returns an error,
// exchange.run answers with that.
type handler func(*exchange) error

// A bodyKind says what body a route accepts.
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
	param   string            // the name of its first id, or ""
	text    bool              // the id is not a number
	routes  map[string]*route // by method
	allow   string            // the value of Allow: HEAD goes wherever GET does, and OPTIONS everywhere
}

// exchanges has exchanges for requests that no public route has handled: those give them
// to other handlers, which may keep them.
var exchanges = sync.Pool{New: func() any { return new(exchange) }}

func newExchange(e *env, w http.ResponseWriter, r *http.Request) *exchange {
	x := exchanges.Get().(*exchange)
	*x = exchange{env: e, w: w, r: r, began: e.now(), ctx: r.Context(), path: nowhere, fields: x.fields[:0], held: x.held}
	if x.plain, _ = w.(http1.FieldWriter); x.plain == nil {
		x.ctx = context.WithoutCancel(x.ctx)
	}
	return x
}

func (x *exchange) release() {
	if x.route == nil || !x.route.public {
		exchanges.Put(x)
	}
}

// workspace returns the id of the caller's workspace, or 0 for an operator.
func (x *exchange) workspace() int64 {
	if x.entry == nil {
		return 0
	}
	return x.entry.Workspace.ID
}

// shop returns the id under which the pets, orders, events and webhooks of the caller's
// workspace are stored.
func (x *exchange) shop() int64 { return x.entry.Workspace.Shop }

// caller returns the name of the caller for the audit log.
func (x *exchange) caller() string { return "api:" + x.entry.Key.ID }

// reads reports whether the request is a GET or a HEAD, which change nothing.
func (x *exchange) reads() bool { return x.r.Method == http.MethodGet || x.r.Method == http.MethodHead }

// address returns the path of the request for links.
func (x *exchange) address() string {
	return strings.Replace(x.path.pattern, "{"+x.path.param+"}", url.PathEscape(x.pathID), 1)
}

// link returns a link to the same path with another query.
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
	if x.plain != nil && !x.mapped {
		x.plain.WriteFields(status, x.fields)
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

// set sets a header field with the name as it is spelled here, which is the documented
// spelling. Header.Set would change it to the canonical one.
func (x *exchange) set(name, value string) { x.fields.Set(name, value) }

func (x *exchange) setInt(name string, n int64) { x.set(name, decimal(n)) }

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// logFailure logs the cause of a failure, which is not sent to the client.
func (x *exchange) logFailure(err error) {
	if x.env.failed != nil {
		x.env.failed(err)
		return
	}
	x.env.log.ErrorContext(x.ctx, "request failed", "request_id", x.id, "err", err)
}
