// Package httpapi is the JSON interface over HTTP: it finds out who calls, has
// the limiter decide, routes, reads the input strictly, asks the shop and
// writes the answer. It holds no rule of the shop and no state of its own.
//
// The way of a request is [API.ServeHTTP] and [API.serve], from top to bottom;
// the surface is routes.go; the statuses of errors are errors.go.
package httpapi

import (
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"example.com/petstore/api"
	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/ratelimit"
)

// Options are what an API is made of. All but BaseURL, TrustedProxies, OnBan,
// Console, Observe and AccessLog are needed.
type Options struct {
	Shop    *petstore.Service
	Keys    *access.Directory[*ratelimit.Caller]
	Limiter ratelimit.Limiter

	// OnBan is told of every ban that the limiter starts. It must not block.
	OnBan func(ratelimit.Ban)

	// Secret signs cursors; every node of an installation has the same.
	Secret []byte

	// BaseURL is put before the paths of links, without a slash at its end.
	// Without it links are relative to the server's root.
	BaseURL string

	// Sunset is the instant from which getPet answers 410.
	Sunset time.Time

	// TrustedProxies are the peers whose Forwarded and X-Forwarded-For are
	// believed.
	TrustedProxies []netip.Prefix

	// Docs serves /docs and everything below it.
	Docs http.Handler

	// Console serves /console and everything below it; nil if there is none. It
	// counts and bounds what it does by the page.
	Console func(w http.ResponseWriter, r *http.Request, p *Page)

	Log *slog.Logger

	// AccessLog takes the line of each request, if Log's level lets it pass.
	// Without it Log takes it.
	AccessLog *AccessLog

	Now func() time.Time

	// Wrapped is set if another handler stands before the API and must see every
	// request: then Listener leaves all of them to net/http.
	Wrapped bool

	// Observe is told of every response. It must not block.
	Observe func(Observation)
}

// An Observation is what is measured of a response.
type Observation struct {
	At        time.Time // when the request came
	RequestID string
	Workspace int64  // of the caller; 0 without a valid key
	KeyID     string // of the caller; "" without a valid key
	Path      string // what was asked for, without the query, with keys in it cut
	Code      string // of the error that was answered, or ""
	Operation string // the operationId, or "" if there is none
	Method    string // one of the methods of HTTP, or "OTHER"
	Status    int
	Duration  time.Duration
	Plan      string // of the caller; "" without a valid key
	Outcome   string // "admitted", "minute", "day", "banned", or "free" if it spends no quota
}

// An API answers requests. It may be used concurrently.
type API struct {
	Options
	mux     *http.ServeMux
	table   table
	cursors cursors
	pages   petsPages
	sunset  string // as an HTTP date
	docs    [2]document

	gates    gates
	conns    conns
	draining atomic.Bool
}

// New returns the API of o.
func New(o Options) (*API, error) {
	switch {
	case o.Shop == nil || o.Keys == nil || o.Limiter == nil || o.Docs == nil || o.Log == nil || o.Now == nil:
		return nil, errors.New("httpapi: an option is missing")
	case len(o.Secret) < 16:
		return nil, errors.New("httpapi: the secret is shorter than 16 bytes")
	}
	o.BaseURL = strings.TrimSuffix(o.BaseURL, "/")
	if u, err := url.Parse(o.BaseURL); err != nil || o.BaseURL != "" && (u.Host == "" || u.RawQuery != "" || u.Fragment != "") {
		return nil, errors.New("httpapi: the base URL must be like https://shop.example/v1")
	}
	if o.OnBan == nil {
		o.OnBan = func(ratelimit.Ban) {}
	}
	if o.Observe == nil {
		o.Observe = func(Observation) {}
	}
	a := &API{
		Options: o,
		cursors: cursors{secret: o.Secret},
		gates:   newGates(),
		pages:   newPetsPages(),
		sunset:  o.Sunset.UTC().Format(http.TimeFormat),
		docs: [2]document{
			newDocument("/openapi.json", "application/json", api.JSON()),
			newDocument("/openapi.yaml", "application/yaml", api.YAML()),
		},
	}
	paths := surface()
	a.mux, a.table = a.newMux(paths), newTable(paths)
	return a, nil
}

// ServeHTTP answers one request: route, then everything else in API.serve.
// A panic becomes a 500 that says nothing of its cause.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{}
	x.reset(a, w, r)
	a.answerExchange(x)
}

func (a *API) answerExchange(x *exchange) {
	defer x.finish()
	x.begin()
	if !ours(x.r.URL) || !clean(x.r.URL.Path) {
		a.serve(x, &path{})
		return
	}
	if _, plain := x.w.(*reply); plain {
		if p, id := a.table.find(x.r.URL.Path); p != nil {
			x.pathID = id
			a.serve(x, p)
			return
		}
	}
	a.mux.ServeHTTP(x, x.r)
}

// serve checks a request in the order that the interface lays down, no step
// looking back, and has its operation answer it.
func (a *API) serve(x *exchange, p *path) {
	x.find(p)
	if err := a.answer(x); err != nil {
		x.fail(err)
	}
}

func (a *API) answer(x *exchange) error {
	sizes := x.checkSizes()
	x.identify()
	if x.decide(sizes != nil); sizes != nil {
		return sizes
	}
	if err := x.refusal(); err != nil {
		return err
	}
	if handled, err := x.routed(); handled || err != nil {
		return err
	}
	if err := x.admit(); err != nil {
		return err
	}
	return a.gates.carryOut(a, x)
}

// Gates returns numbers of what bounds the requests carried out at once, of
// "read" and of "write".
func (a *API) Gates() map[string]GateStats { return a.gates.stats() }
