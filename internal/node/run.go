package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/netip"
	"regexp"
	"runtime/debug"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/config"
	"example.com/petstore/internal/http1"
	"example.com/petstore/internal/scratch"
)

// Options configure a node.
type Options struct {
	Config  *config.Config
	Origins config.Origins      // where the settings come from, for errors
	Getenv  func(string) string // for the variables of OpenTelemetry
	Version string
	Log     io.Writer
	Demo    bool // fill an empty database with the demo workspace, and create a key to it

	// Sandbox is the catalogue of a sandbox that is created at the start; "" for none.
	Sandbox string

	// Ready is called once the node serves. Its error is only logged.
	Ready func(Serving) error
}

// Serving describes a node that serves.
type Serving struct {
	URL    string // of the public listener, as clients reach it
	OpsURL string // of the operations listener; "" if there is none
	Demo   *Demo  // nil without Options.Demo and Options.Sandbox
}

// Run runs a node until ctx ends or its store fails. It listens before it opens the
// store, so that early requests wait instead of being refused, and readiness probes get
// the reason. It checks the settings before that, so that no new database is left
// behind if they are wrong.
func Run(ctx context.Context, o Options) (err error) {
	n := &node{Options: o, now: time.Now, started: time.Now(), metrics: newMetrics(o.Version)}
	if err := n.openLog(ctx); err != nil {
		return err
	}
	defer n.stopTraces()
	if err := n.openLimiter(); err != nil {
		return err
	}
	limitMemory(n.log)
	n.budget = newBudget(debug.SetMemoryLimit(-1))
	n.connections = http1.NewLimit(n.budget.limits(n.Config))
	sockets, err := n.listen()
	if err != nil {
		return err
	}
	defer sockets.close()
	n.warnTrustAll()
	s := newServers(n.log)
	if sockets.ops != nil {
		warnPublicOps(n.log, sockets.ops.Addr())
		s.startOps(sockets.ops, n.Config.OpsHosts)
	}
	if err := n.open(ctx, sockets.inherited); err != nil {
		return errors.Join(err, s.stop(0))
	}
	defer func() { err = errors.Join(err, n.close()) }()
	scratch.Sweep()
	return n.serve(ctx, s, sockets)
}

// serve starts the listeners and returns when the node has ended.
func (n *node) serve(ctx context.Context, s *servers, on *sockets) error {
	pages, endPages := context.WithCancel(ctx) // ends streams of events, which would delay the shutdown
	defer endPages()
	serving, err := n.startListeners(pages, s, on)
	if err != nil {
		return errors.Join(err, s.stop(0))
	}
	stopWork := n.startBackground(ctx)
	if err := n.Ready(serving); err != nil {
		n.log.Warn("the address could not be printed", "err", err)
	}
	notifySystemd(n.log, daemon.SdNotifyReady)
	err = n.wait(ctx, s)
	endPages()
	s.phase.set(errStopping)
	notifySystemd(n.log, daemon.SdNotifyStopping)
	err = errors.Join(err, n.drain(s, err == nil))
	return errors.Join(err, stopWork())
}

// startListeners starts the servers of both listeners.
func (n *node) startListeners(ctx context.Context, s *servers, on *sockets) (Serving, error) {
	serving := Serving{URL: n.publicURL(on.public.Addr())}
	operations, err := n.operations(ctx, &s.phase, serving.URL)
	if err != nil {
		return serving, err
	}
	s.operations.show(operations)
	if on.ops != nil {
		serving.OpsURL = LocalURL(on.ops.Addr().String())
	}
	if serving.Demo, err = n.prepare(ctx); err != nil {
		return serving, err
	}
	server, front, pages, err := n.frontend(ctx, serving.URL)
	if err != nil {
		return serving, err
	}
	if serving.Demo != nil {
		serving.Demo.SignIn = serving.URL + pages.SignInPath(serving.Demo.keyID)
	}
	if n.tracer != nil {
		server.Handler = n.tracer.Handler(server.Handler)
	}
	s.startPublic(server, front, on.public)
	s.phase.set(nil)
	return serving, nil
}

// prepare creates the demo or the sandbox of the options, and loads its keys. It returns nil if there is neither.
func (n *node) prepare(ctx context.Context) (demo *Demo, err error) {
	switch {
	case n.Demo:
		demo, err = demoMaker{n}.create(ctx)
	case n.Sandbox != "":
		const keys = access.Read | access.Write
		made, fault := n.sandboxes.Create(ctx, netip.IPv6Loopback(), n.Sandbox, keys, keys|access.Manage)
		if fault != nil {
			return nil, fault
		}
		demo = &Demo{Workspace: made.Name, Key: made.Secrets[0], ManageKey: made.Secrets[1], keyID: made.Keys[1].ID}
	default:
		return nil, nil
	}
	return demo, errors.Join(err, n.keys.Refresh(ctx))
}

// openLog opens the log, and starts tracing if it is enabled.
func (n *node) openLog(ctx context.Context) (err error) {
	n.logTo = &sharedWriter{w: n.Log}
	options := &slog.HandlerOptions{Level: n.Config.LogLevel}
	n.log = slog.New(slog.NewJSONHandler(n.logTo, options))
	if n.Config.LogFormat == "text" {
		n.log = slog.New(slog.NewTextHandler(n.logTo, options))
	}
	slog.SetDefault(n.log) // libraries log to the standard loggers
	log.SetOutput(withoutUnsolicited{log.Writer()})
	return n.startTraces(ctx)
}

// A withoutUnsolicited drops the lines of net/http about a server that sends more than it
// was asked for. Otherwise the receiver of a webhook could fill the log with its words.
type withoutUnsolicited struct{ io.Writer }

func (w withoutUnsolicited) Write(p []byte) (int, error) {
	if bytes.HasPrefix(p, []byte("Unsolicited response")) {
		return len(p), nil
	}
	return w.Writer.Write(p)
}

// A sharedWriter writes the lines of several logs, without mixing them. It escapes
// characters that control terminals and that JSON need not escape: C1 controls and
// bidirectional marks, as \u and four digits.
type sharedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (s *sharedWriter) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if bytes.IndexByte(p, 0xC2) < 0 && bytes.IndexByte(p, 0xE2) < 0 { // the first bytes of these characters in UTF-8
		return s.w.Write(p)
	}
	_, err := s.w.Write(terminalControls.ReplaceAllFunc(p, func(r []byte) []byte {
		return fmt.Appendf(nil, `\u%04x`, []rune(string(r))[0])
	}))
	return len(p), err
}

var terminalControls = regexp.MustCompile(`[\x{80}-\x{9f}\x{202a}-\x{202e}\x{2066}-\x{2069}]`)

// wait returns nil when ctx ends, and an error if the service fails.
func (n *node) wait(ctx context.Context, s *servers) error {
	select {
	case <-ctx.Done():
		return nil
	case <-n.store.Failed():
		return fmt.Errorf("the database failed: %w", n.store.Err())
	case err := <-s.failed:
		return err
	}
}

// drain waits for the requests in flight. The operations listener answers until the
// end, so that probes get the reason why the service is not ready.
func (n *node) drain(s *servers, healthy bool) error {
	n.log.Info("stopping", "delay", n.Config.DrainDelay.String(), "timeout", n.Config.DrainTimeout.String())
	if healthy {
		time.Sleep(n.Config.DrainDelay) // a second signal ends the process
	}
	return s.stop(n.Config.DrainTimeout)
}
