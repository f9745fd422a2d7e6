package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/spf13/cobra"
)

func (a *app) serveCommand() *cobra.Command {
	var demo bool
	cmd := a.command(spec{
		use:   "serve [--demo]",
		short: "Serve the API",
		long: `Serve the API. The database is made, and brought up to date, if need be.

On SIGTERM or SIGINT /readyz fails first, the requests in flight finish, and the
process ends with 0; a second signal ends it at once with 130. Under systemd it
takes inherited sockets, the one named "ops" for operations, and says when it is
ready.

OTEL_EXPORTER_OTLP_ENDPOINT=http://HOST:4318 turns traces on; the other variables
of OpenTelemetry hold too.

With --demo, an empty database gets the workspace "demo" with a catalogue; each
start makes a key that is valid for a week, and prints it.`,
		example: "  petstore serve --demo\n  petstore serve --addr :8080 --base-url https://pets.example.com --db /var/lib/petstore/petstore.db",
		run:     func(ctx context.Context, _ []string) error { return a.serve(ctx, demo) },
	})
	a.config.Register(cmd.Flags())
	cmd.Flags().BoolVar(&demo, "demo", false, "serve a demo shop, and print a key to try it with")
	return cmd
}

// serve runs the service until ctx ends or its store fails. It listens before
// it opens the store, so that who asks early waits, and is told why; a setting
// that cannot be used ends it before, so that no new database stays behind.
func (a *app) serve(ctx context.Context, demo bool) (err error) {
	if err := a.checkLimiter(); err != nil {
		return err
	}
	a.spareMemory()
	log := a.logger()
	if a.tracer, log, err = a.startTraces(ctx, log); err != nil {
		return err
	}
	defer a.stopTraces(a.tracer, log)
	sockets, err := a.listen()
	if err != nil {
		return err
	}
	defer sockets.close()
	if sockets.public, err = a.secure(sockets.public, log); err != nil {
		return err
	}
	s := newServers(log)
	if sockets.ops != nil {
		s.startOps(sockets.ops)
	}
	n, err := a.openNode(ctx, log)
	if err != nil {
		return errors.Join(err, s.stop(0))
	}
	defer func() { err = errors.Join(err, n.close()) }()
	operations, err := n.operations(ctx, &s.phase)
	if err != nil {
		return errors.Join(err, s.stop(0))
	}
	s.operations.show(operations)
	shop, err := a.openDoors(ctx, n, s, sockets, demo)
	if err != nil {
		return errors.Join(err, s.stop(0))
	}
	stopWork := n.work(ctx)
	if err := a.announce(sockets, shop); err != nil {
		log.Warn("the address could not be printed", "err", err)
	}
	notifySystemd(log, systemdReady)
	err = a.wait(ctx, n, s)
	s.phase.Drain()
	notifySystemd(log, systemdStopping)
	err = errors.Join(err, a.drain(log, s, err == nil))
	return errors.Join(err, stopWork())
}

// garbage is how much more than what is in use the heap may grow to, in percent,
// unless GOGC says. What is in use is small, and requests leave little: to collect
// more often costs next to nothing, and spares memory.
const garbage = 25

func (a *app) spareMemory() {
	if a.getenv("GOGC") == "" {
		debug.SetGCPercent(garbage)
	}
}

// openDoors starts the public server, and returns the demo if there is one.
func (a *app) openDoors(ctx context.Context, n *node, s *servers, on *sockets, wanted bool) (shop *demo, err error) {
	if wanted {
		if shop, err = n.prepareDemo(ctx); err != nil {
			return nil, err
		}
	}
	front, err := n.frontend(ctx, on.public.Addr())
	if err != nil {
		return nil, err
	}
	if shop != nil {
		shop.signIn = n.publicURL(on.public.Addr()) + front.console.SignInPath(shop.keyID)
	}
	if a.tracer != nil {
		front.server.Handler = a.tracer.Handler(front.server.Handler)
	}
	s.startPublic(front, on.public)
	s.phase.Serve()
	return shop, nil
}

func (a *app) logger() *slog.Logger {
	a.logTo = &sharedWriter{w: a.err}
	options := &slog.HandlerOptions{Level: a.config.LogLevel}
	if a.config.LogFormat == "text" {
		return slog.New(slog.NewTextHandler(a.logTo, options))
	}
	return slog.New(slog.NewJSONHandler(a.logTo, options))
}

// A sharedWriter takes the lines of several logs, each line whole.
type sharedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (s *sharedWriter) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(p)
}

// wait returns nil when ctx ends, and an error if the service cannot go on.
func (a *app) wait(ctx context.Context, n *node, s *servers) error {
	select {
	case <-ctx.Done():
		return nil
	case <-n.store.Failed():
		return fmt.Errorf("the database failed: %w", n.store.Err())
	case err := <-s.failed:
		return err
	}
}

// drain lets the requests in flight finish. The operations listener answers
// until the end, so that everybody can see why no more come in.
func (a *app) drain(log *slog.Logger, s *servers, healthy bool) error {
	log.Info("stopping", "delay", a.config.DrainDelay.String(), "timeout", a.config.DrainTimeout.String())
	if healthy {
		time.Sleep(a.config.DrainDelay) // a second signal ends it
	}
	return s.stop(a.config.DrainTimeout)
}
