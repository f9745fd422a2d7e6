// Package httpapi is the JSON API over HTTP, on net/http's types and blind to
// the transport: it finds out who calls, has the limiter decide, routes, reads
// the input strictly, asks the service and writes the answer. It holds no rule
// of the domain and no state of its own.
//
// The way of a request is [pipeline.steps], from top to bottom. Each resource
// has a file with its routes, its decoding and its handlers. The statuses of
// errors are errors.go.
package httpapi

import (
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

// Options are what an API is made of. All but BaseURL, ServerURL, TrustedProxies, OnBan, Version, Held,
// Events, Webhooks, Done, Console, Observe, AccessLog, Reads and Writes are needed.
type Options struct {
	Service *petstore.Service
	Access  access.Store
	Keys    *access.Directory[*ratelimit.Caller]
	Limiter *ratelimit.Limiter

	// Webhooks are those of workspaces; nil if no events are kept.
	Webhooks *webhook.Service

	// OnBan is called for every ban that the limiter starts. It must not block.
	OnBan func(ratelimit.Ban)

	// Secret signs cursors; every node of an installation has the same.
	Secret []byte

	// BaseURL is put before the paths of links. Without it they are relative to
	// the server's root.
	BaseURL string

	// ServerURL is the server of the description: BaseURL, or where the server
	// itself says that it is. Without it that is relative, too.
	ServerURL string

	// Sunset is the instant from which getPet answers 410.
	Sunset time.Time

	// TrustedProxies are the peers whose Forwarded and X-Forwarded-For are
	// believed.
	TrustedProxies []netip.Prefix

	// Version returns a number that is another one after each change of a workspace's
	// pets, or that it is not known. If it is not nil, answers to GETs are held.
	Version func(workspace int64) (version uint64, known bool)

	// Held is how many bytes the answers that are held take at most; 0 is 16 MiB.
	Held int64

	// Events are the feeds of workspaces; nil if none are kept.
	Events petstore.Feed

	// Done is closed when the service is about to end: then who waits for events is
	// answered, and streams of them end. It may be nil.
	Done <-chan struct{}

	// Sandboxes makes workspaces for visitors; nil if there are none. SignIn returns the
	// path by which the holder of a key signs in to the console, and is needed with it.
	Sandboxes *sandbox.Service
	SignIn    func(keyID string) string

	// Docs serves /docs and everything below it.
	Docs http.Handler

	// Console serves /console and everything below it; nil if there is none. It
	// counts and bounds what it does by the page.
	Console func(w http.ResponseWriter, r *http.Request, p *ConsoleGate)

	Log *slog.Logger

	// AccessLog takes the line of each request, if Log's level lets it pass.
	// Without it Log takes it.
	AccessLog *AccessLog

	Now func() time.Time

	// Observe is called for every response. It must not block.
	Observe func(Observation)

	// Reads and Writes are how many operations of a kind are carried out at once; 0
	// is 128 reads and 512 writes.
	Reads, Writes int
}

// An API answers requests. It may be used concurrently.
type API struct {
	pipeline pipeline
	streams  *fairshare.Pool // of events: what they hold otherwise is counted by http1
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
	if o.OnBan == nil {
		o.OnBan = func(ratelimit.Ban) {}
	}
	if o.Observe == nil {
		o.Observe = func(Observation) {}
	}
	a := &API{pipeline: pipeline{
		env:      env{log: o.Log, baseURL: o.BaseURL, cursors: cursors{secret: o.Secret}, statuses: statuses},
		now:      o.Now,
		auth:     authenticator{keys: o.Keys, trusted: o.TrustedProxies},
		limits:   rateLimiter{limiter: o.Limiter, onBan: o.OnBan},
		sunset:   newSunset(o.Sunset),
		workload: newWorkload(o.Reads, o.Writes),
		cache:    newCache(o.Version, o.Held),
		observer: observer{observe: o.Observe, log: o.Log, access: o.AccessLog},
		store:    o.Access, sandboxes: o.Sandboxes, done: o.Done,
	}}
	a.streams = fairshare.New(fairshare.Options{Capacity: math.MaxInt32, Each: maxFeedStreams})
	a.pipeline.router = newRouter(a.surface(&o))
	return a, nil
}

func (o *Options) check() error {
	switch {
	case o.Service == nil || o.Access == nil || o.Keys == nil || o.Limiter == nil || o.Docs == nil || o.Log == nil || o.Now == nil:
		return errors.New("httpapi: an option is missing")
	case len(o.Secret) < 16:
		return errors.New("httpapi: the secret is shorter than 16 bytes")
	}
	return nil
}

// surface returns the whole interface.
func (a *API) surface(o *Options) []path {
	p := &a.pipeline
	return slices.Concat(
		petPaths(o.Service),
		categoryPaths(o.Service),
		orderPaths(o.Service),
		inventoryPaths(o.Service),
		keys{store: o.Access, live: o.Keys, now: o.Now}.paths(),
		(&events{feed: o.Events, keys: o.Keys, now: o.Now, done: o.Done, reads: p.workload.reads, streams: a.streams, search: fairshare.New(fairshare.Options{Capacity: 1, Queue: maxWaiting, Wait: admissionWait})}).paths(),
		webhooks{o.Webhooks}.paths(),
		accountPaths(),
		sandboxes{o.Sandboxes, o.SignIn, o.BaseURL}.paths(),
		pages{serverURL: o.ServerURL, docs: o.Docs, console: o.Console, shared: p}.paths(),
	)
}

// ServeHTTP answers one request.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.pipeline.run(w, r, nil) }

// Malformed answers a request that could not be parsed, for which net/http has
// the status given.
func (a *API) Malformed(w http.ResponseWriter, r *http.Request, status int) {
	err := errMalformed
	if status == http.StatusRequestHeaderFieldsTooLarge {
		err = errHeadersTooLarge
	}
	a.pipeline.run(w, r, err)
}

// Workload returns the numbers of the requests that are carried out at once, of
// "read" and of "write".
func (a *API) Workload() map[string]fairshare.Stats {
	l := &a.pipeline.workload
	return map[string]fairshare.Stats{"read": l.reads.Stats(), "write": l.writes.Stats()}
}

// Streams returns how many streams of events are open.
func (a *API) Streams() int { return int(a.streams.Stats().Used) }

// How long a peer may take.
const (
	headTimeout  = 10 * time.Second
	readTimeout  = 30 * time.Second
	writeTimeout = 30 * time.Second
)

// Server returns the server for the public listener: HTTP/1.1, and HTTP/2 with
// TLS, with bounds on how long a peer may take and on what it may have waiting. Its
// IdleTimeout is for the caller to set.
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
		ErrorLog:                     slog.NewLogLogger(a.pipeline.env.log.Handler(), slog.LevelDebug),
		HTTP2: &http.HTTP2Config{
			MaxReceiveBufferPerStream:     maxBody,
			MaxReceiveBufferPerConnection: maxBody, // nothing counts it before its requests begin
			SendPingTimeout:               readTimeout,
			WriteByteTimeout:              writeTimeout,
		},
	}
}

// NotPlain is the header field of requests whose answers may go on for long, or be
// broken off.
const NotPlain = simulateHeader

// Plain reports whether a path is in the part that has operations, and not
// pages, whose answers may go on for long.
func Plain(path string) bool {
	for _, root := range [...]string{"/pets", "/store/", "/inventory", "/categories", "/account"} {
		if strings.HasPrefix(path, root) {
			return true
		}
	}
	return false
}
