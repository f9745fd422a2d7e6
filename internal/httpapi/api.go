// Package httpapi is the JSON API over HTTP. It authenticates the caller, applies the
// rate limits, routes, reads the input strictly, calls the service and writes the
// answer. It uses net/http's types and does not depend on the transport. It contains no
// rules of the domain.
//
// [API.steps] shows what happens to a request, in order. Each resource has a file
// with its routes, its decoding and its handlers. The statuses of errors are in
// errors.go.
package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/fairshare"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/ratelimit"
	"example.com/petstore/internal/sandbox"
	"example.com/petstore/internal/webhook"
)

// Options configure an API. All but BaseURL, ServerURL, TrustedProxies, Version, Events, Webhooks,
// Sandboxes, SignIn, Done, Console and AccessLog are needed.
type Options struct {
	Service *petstore.Service
	Access  access.Store
	Keys    *access.Directory[*ratelimit.Caller]
	Limiter *ratelimit.Limiter

	// Webhooks manages the webhooks of workspaces; nil if no events are kept.
	Webhooks *webhook.Service

	// OnBan is called for every ban that the limiter starts. It must not block.
	OnBan func(ratelimit.Ban)

	// Secret signs cursors. It must be the same on all nodes of an installation.
	Secret []byte

	// BaseURL is put before the paths of links. Without it they are relative to
	// the server's root.
	BaseURL string

	// ServerURL is the server in the OpenAPI description: BaseURL, or the address of
	// the listener. Without it the server is relative, too.
	ServerURL string

	// Sunset is the instant from which getPet answers 410.
	Sunset time.Time

	// TrustedProxies are the peers whose Forwarded and X-Forwarded-For are trusted.
	TrustedProxies []netip.Prefix

	// Version returns a number that changes with each change of a workspace's pets, or
	// false if it is not known. If it is not nil, answers to GETs are cached, in some 50 MiB
	// of memory.
	Version func(workspace int64) (version uint64, known bool)

	// Events are the feeds of workspaces; nil if no events are kept.
	Events petstore.Feed

	// Done is closed when the service is about to end. Then requests that wait for
	// events are answered, and event streams end. It may be nil.
	Done <-chan struct{}

	// Sandboxes creates workspaces for visitors; nil if there are no sandboxes. SignIn
	// returns the path by which the holder of a key signs in to the console. It is
	// needed if Sandboxes is not nil.
	Sandboxes *sandbox.Service
	SignIn    func(keyID string) string

	// Docs serves /docs and everything below it.
	Docs http.Handler

	// Console serves /console and everything below it; nil if there is no console. It
	// must count and limit its requests with the ConsoleGate.
	Console func(w http.ResponseWriter, r *http.Request, p *ConsoleGate)

	Log *slog.Logger

	// AccessLog gets a line for each request, if the level of Log allows it. If it is
	// nil, Log gets the line.
	AccessLog *AccessLog

	Now func() time.Time

	// Observe is called for every response, with the context of its request. It must not block.
	Observe func(context.Context, Observation)

	// Reads and Writes are how many operations of a kind are carried out at once. For reads it
	// is enough to keep the processors and the connections to a database busy; more of them would
	// only take longer. For writes it is enough for two groups: while one is committed, the next
	// one is collected.
	Reads, Writes int
}

// An API answers requests. It may be used concurrently.
type API struct {
	o       Options
	env     env
	router  router
	sunset  sunset
	cache   *cache
	reads   *fairshare.Pool // limits how many reads are carried out at once
	writes  *fairshare.Pool // the same for writes
	streams *fairshare.Pool // limits event streams; http1 counts their memory
}

// New returns the API of o.
func New(o Options) (*API, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	o.BaseURL = strings.TrimSuffix(o.BaseURL, "/")
	if u, err := url.Parse(o.BaseURL); err != nil || o.BaseURL != "" && (u.Host == "" || u.RawQuery != "" || u.Fragment != "") {
		return nil, errors.New("httpapi: the base URL must be like https://petstore.example/v1")
	}
	a := &API{
		o: o,
		env: env{
			log: o.Log, baseURL: o.BaseURL, cursors: cursors{secret: o.Secret}, statuses: statuses,
			now: o.Now, observe: o.Observe, access: o.AccessLog,
		},
		sunset:  newSunset(o.Sunset),
		cache:   newCache(o.Version),
		reads:   newPool(o.Reads),
		writes:  newPool(o.Writes),
		streams: fairshare.New(fairshare.Options{Capacity: math.MaxInt32, Each: maxFeedStreams}),
	}
	a.router = newRouter(a.surface())
	return a, nil
}

func (o *Options) check() error {
	switch {
	case o.Service == nil || o.Access == nil || o.Keys == nil || o.Limiter == nil || o.OnBan == nil || o.Docs == nil || o.Log == nil ||
		o.Now == nil || o.Observe == nil || o.Reads < 1 || o.Writes < 1:
		return errors.New("httpapi: an option is missing")
	case len(o.Secret) < 16:
		return errors.New("httpapi: the secret is shorter than 16 bytes")
	}
	return nil
}

// surface returns all routes of the API.
func (a *API) surface() []route {
	return slices.Concat(
		petRoutes(a.o.Service),
		categoryRoutes(a.o.Service),
		orderRoutes(a.o.Service),
		inventoryRoutes(a.o.Service),
		a.keyRoutes(),
		a.eventRoutes(),
		webhooks{a.o.Webhooks}.routes(),
		accountRoutes(),
		a.sandboxRoutes(),
		a.pageRoutes(),
	)
}

// ServeHTTP answers one request.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.run(w, r, nil) }

// Malformed answers a request that net/http could not parse. status is net/http's.
func (a *API) Malformed(w http.ResponseWriter, r *http.Request, status int) {
	err := errMalformed
	if status == http.StatusRequestHeaderFieldsTooLarge {
		err = errHeadersTooLarge
	}
	a.run(w, r, err)
}

// Workload returns the statistics of the pools that limit how many requests are carried
// out at once: "read" and "write".
func (a *API) Workload() map[string]fairshare.Stats {
	return map[string]fairshare.Stats{"read": a.reads.Stats(), "write": a.writes.Stats()}
}

// Streams returns how many streams of events are open.
func (a *API) Streams() int { return int(a.streams.Stats().Used) }

// The time limits of requests.
const (
	headTimeout  = 10 * time.Second
	readTimeout  = 30 * time.Second
	writeTimeout = 30 * time.Second
)

// Server returns the server for the public listener: HTTP/1.1, and HTTP/2 with TLS. It
// limits how long a peer may take and how much it may have buffered. The caller has to
// set its IdleTimeout.
func (a *API) Server() *http.Server {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	return &http.Server{
		Handler:                      a,
		Protocols:                    &protocols,
		ReadHeaderTimeout:            headTimeout,
		ReadTimeout:                  readTimeout,
		WriteTimeout:                 writeTimeout,
		MaxHeaderBytes:               maxHead,
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(a.o.Log.Handler(), slog.LevelDebug),
		HTTP2: &http.HTTP2Config{
			MaxReceiveBufferPerStream:     maxBody,
			MaxReceiveBufferPerConnection: maxBody, // it is not counted before its requests begin
			SendPingTimeout:               readTimeout,
			WriteByteTimeout:              writeTimeout,
		},
	}
}

// NotPlain is the header field of requests whose answers may take long, or be broken
// off.
const NotPlain = simulateHeader

// Plain reports whether a path belongs to an operation whose answer cannot take long,
// as pages and streams can.
func Plain(path string) bool {
	for _, root := range [...]string{"/pets", "/store/", "/inventory", "/categories", "/account"} {
		if strings.HasPrefix(path, root) {
			return true
		}
	}
	return false
}
