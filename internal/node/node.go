// Package node runs the service in one process: it opens the store, the limiter and the
// listeners of the settings, runs the background tasks, and shuts everything down. It
// is not a command, and prints only its log.
package node

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/http1"
	"example.com/petstore/internal/httpapi"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/portal"
	"example.com/petstore/internal/portal/console"
	"example.com/petstore/internal/portal/page"
	"example.com/petstore/internal/ratelimit"
	"example.com/petstore/internal/sandbox"
	"example.com/petstore/internal/store"
	"example.com/petstore/internal/store/sqlite"
	"example.com/petstore/internal/trace"
	"example.com/petstore/internal/usage"
	"example.com/petstore/internal/webhook"
)

// How often the background tasks run.
const (
	refreshKeys = 250 * time.Millisecond // revocations and bans must be in effect within a second, also for what connections are counted for
	saveLimits  = 500 * time.Millisecond // a crash may lose the counts of a second at most, including the time to save them
	saveUsage   = 2 * time.Second        // the console shows what is saved, and a crash may lose the rest
)

// A node is the service in one process.
type node struct {
	Options

	now         func() time.Time
	started     time.Time
	log         *slog.Logger
	logTo       *sharedWriter
	tracer      *trace.Tracer // nil unless traces are enabled
	store       Store
	secret      []byte // the store's
	service     *petstore.Service
	limiter     *ratelimit.Limiter
	redis       *ratelimit.Redis // the limiter's; nil if it counts in this process
	keys        *access.Directory[*ratelimit.Caller]
	storing     sync.WaitGroup // bans that are being stored
	backups     *scheduler
	metrics     *metrics
	api         *httpapi.API
	webhooks    *webhook.Service // nil if no events are kept, and deliverer too
	deliverer   *webhook.Deliverer
	sandboxes   *sandbox.Service // nil if there are no sandboxes
	usage       *usage.Recorder
	access      *httpapi.AccessLog // nil if requests are logged to n.log
	budget      budget
	connections *http1.Limit // of the public listener
	certificate *certificate // of the public listener; nil without TLS
}

// waitForServer is how long to wait for another server of the same SQLite file, which
// may be about to end.
const waitForServer = 2 * time.Second

// open opens the store and restores the counts of the last run. If the sockets are
// inherited, the former server may still be draining.
func (n *node) open(ctx context.Context, inherited bool) (err error) {
	wait := waitForServer
	if inherited {
		wait += n.Config.DrainDelay + n.Config.DrainTimeout
	}
	if n.store, err = OpenStore(ctx, n.Config, store.OpenOptions{Log: n.log, Serve: true, Wait: wait}); err != nil {
		return err
	}
	if n.redis != nil {
		n.redis.Check()
	}
	n.service, n.usage = petstore.NewService(n.store), usage.NewRecorder(n.store, n.now)
	if n.Config.LogFormat == "json" && n.tracer == nil { // the access log does not contain trace ids
		n.access = httpapi.NewAccessLog(n.logTo)
	}
	n.backups = newScheduler(n.Config, n.store, n.now, n.log)
	if n.Config.Sandbox.On {
		n.sandboxes = n.newSandboxes()
	}
	if n.Config.EventRetention > 0 {
		n.openWebhooks()
	}
	n.keys = access.NewDirectory(n.store, n.now, n.attach)
	if err := n.restore(ctx); err != nil {
		return errors.Join(err, n.close())
	}
	return nil
}

// restore loads the secret, the saved counts and the keys. If no events are kept, it ends the feeds
// before the first change that is not in them; if that fails, the chores try again.
func (n *node) restore(ctx context.Context) error {
	if n.Config.EventRetention == 0 {
		if err := n.store.EndFeeds(ctx); err != nil {
			n.log.Error("the feeds could not be ended", "err", err)
		}
	}
	var err error
	if n.secret, err = n.store.Secret(ctx); err != nil {
		return err
	}
	saved, err := n.store.LoadLimits(ctx)
	if err != nil {
		return err
	}
	if err := n.limiter.Restore(saved); err != nil {
		n.log.Error("a saved count could not be restored", "err", err)
	}
	return n.keys.Refresh(ctx)
}

// pages returns the options that both consoles share.
func (n *node) pages(baseURL string) page.Options {
	return page.Options{
		Access: n.store, Keys: n.keys, Limiter: n.limiter, Usage: n.usage, Secret: n.secret, BaseURL: baseURL, Now: n.now, Log: n.log,
	}
}

// frontend returns the server of the public listener, its front and the console. public
// is the URL at which clients reach it.
func (n *node) frontend(ctx context.Context, public string) (*http.Server, *http1.Front, *console.Console, error) {
	var keys []string
	if n.sandboxes != nil {
		keys = n.sandboxes.Scopes().List()
	}
	docs, err := portal.NewReference(portal.ReferenceOptions{
		BaseURL:  public,
		Sunset:   n.Config.Sunset,
		Version:  n.Version,
		Sandbox:  keys,
		NotFound: http.HandlerFunc(httpapi.NotFound),
	})
	if err != nil {
		return nil, nil, nil, err
	}
	pages, err := console.New(console.Options{
		Page: n.pages(n.Config.BaseURL), Service: n.service, Bulk: n.store, Events: n.events(), Webhooks: n.webhooks,
		Sandboxes: n.sandboxes, PagesPerMinute: n.Config.ConsolePages, Imports: n.budget.imports(),
	})
	if err != nil {
		return nil, nil, nil, err
	}
	var version func(workspace int64) (version uint64, known bool)
	if db, ok := n.store.(*sqlite.DB); ok && n.budget.caches() { // PostgreSQL has other nodes, which change pets too
		version = db.PetVersion
	}
	api, err := httpapi.New(httpapi.Options{
		Service: n.service, Access: n.store, Keys: n.keys, Limiter: n.limiter, OnBan: n.banStarted,
		Version: version, Secret: n.secret, BaseURL: n.Config.BaseURL, ServerURL: public, Sunset: n.Config.Sunset, TrustedProxies: n.Config.TrustedProxies,
		Events: n.events(), Webhooks: n.webhooks, Done: ctx.Done(),
		Sandboxes: n.sandboxes, SignIn: pages.SignInPath,
		Docs: docs, Console: func(w http.ResponseWriter, r *http.Request, p *httpapi.ConsoleGate) { pages.Serve(w, r, p) },
		Log: n.log, AccessLog: n.access, Now: n.now, Observe: n.observe,
		Reads: n.budget.reads(n.store.Stats().Readers), Writes: n.budget.writes(),
	})
	if err != nil {
		return nil, nil, nil, err
	}
	n.api = api
	n.metrics.MustRegister(collector(n.collect))
	server := api.Server()
	server.IdleTimeout = n.Config.IdleTimeout
	server.HTTP2.MaxConcurrentStreams = n.budget.streams(n.connections.Connections().Capacity)
	server.Protocols.SetUnencryptedHTTP2(n.Config.H2C == "on")
	front := http1.New(server, http1.Options{Plain: httpapi.Plain, NotPlain: httpapi.NotPlain, Malformed: api.Malformed})
	return server, front, pages, nil
}

// publicURL returns the URL at which clients reach the API: the base URL, or the
// address of the listener.
func (n *node) publicURL(addr net.Addr) string {
	if n.Config.BaseURL != "" {
		return n.Config.BaseURL
	}
	url := LocalURL(addr.String())
	if n.certificate != nil {
		url = "https" + strings.TrimPrefix(url, "http")
	}
	return url
}

// startBackground starts the background tasks. The function that it returns ends them,
// and saves the last counts.
func (n *node) startBackground(ctx context.Context) (stop func() error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var running errgroup.Group
	start := func(task func(context.Context)) {
		running.Go(func() error {
			task(ctx)
			return nil
		})
	}
	start(func(ctx context.Context) {
		n.store.Follow(ctx, func() { _ = n.keys.Refresh(ctx) }) // the chore tries again and logs
	})
	running.Go(func() error {
		save := func(ctx context.Context) error { return n.limiter.Save(ctx, n.store) }
		return keepSaving(ctx, n.log, chore{saveLimits, "counts of the limiter could not be saved", save})
	})
	running.Go(func() error {
		return keepSaving(ctx, n.log, chore{saveUsage, "usage could not be saved", n.usage.Save})
	})
	for _, c := range n.chores() {
		start(func(ctx context.Context) { c.run(ctx, n.log) })
	}
	if n.redis != nil {
		start(func(ctx context.Context) {
			every(ctx, ratelimit.CheckInterval, func(context.Context) { n.redis.Check() })
		})
	}
	if n.deliverer != nil {
		start(n.deliverer.Run)
	}
	return func() error {
		cancel()
		err := running.Wait()
		n.storing.Wait()
		if n.access != nil {
			n.access.Flush()
		}
		return err
	}
}

// events returns the feeds of workspaces, or nil if none are kept.
func (n *node) events() petstore.Feed {
	if n.Config.EventRetention == 0 {
		return nil
	}
	return n.store
}

func (n *node) observe(ctx context.Context, o httpapi.Observation) {
	n.metrics.observe(o)
	if n.tracer != nil {
		trace.Describe(ctx, o.Method, o.Pattern, o.Status, o.RequestID)
	}
	if o.Workspace != 0 && (o.Operation != "" || o.Outcome != "free") {
		n.usage.Record(o.Workspace, o.Event)
	}
}

// close closes the store and the connection to Redis.
func (n *node) close() error {
	if n.redis != nil {
		n.redis.Close()
	}
	return n.store.Close()
}
