package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/petstore/internal/http1"
)

// servers are the servers of both listeners.
type servers struct {
	log         *slog.Logger
	phase       phase
	operations  relay
	public, ops *http.Server
	front       *http1.Front  // of the public server
	gate        net.Listener  // the listener of the public server
	closed      chan struct{} // closed when the public server has stopped accepting
	failed      chan error    // receives an error if a server ends by itself
	running     sync.WaitGroup
}

func newServers(log *slog.Logger) *servers {
	return &servers{log: log, failed: make(chan error, 2), closed: make(chan struct{})}
}

// startOps starts the operations server. It answers that the service is starting, until
// s.operations shows another handler. names are the names in its Host, besides
// addresses.
func (s *servers) startOps(on net.Listener, names []string) {
	s.operations.show(probes([]check{{"service", s.phase.err}}, prometheus.NewRegistry(), s.log))
	s.ops = newOperationsServer(&s.operations, s.log, names)
	s.running.Go(func() { s.serve(s.ops, on) })
}

// startPublic starts the public server, of which front answers the plain requests.
func (s *servers) startPublic(server *http.Server, front *http1.Front, on net.Listener) {
	s.public, s.front, s.gate = server, front, front.Listener(on)
	s.running.Go(func() {
		defer close(s.closed)
		s.serve(s.public, s.gate)
	})
}

// serve returns when the server or its listener is closed.
func (s *servers) serve(server *http.Server, on net.Listener) {
	if err := server.Serve(on); !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
		s.failed <- fmt.Errorf("the listener %s failed: %w", on.Addr(), err)
	}
}

// stop waits for the requests in flight for the time within at most, and stops the
// servers. It returns an error if requests had to be cut off.
func (s *servers) stop(within time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	err := errors.Join(s.stopPublic(ctx, within), s.stopOps(ctx, within))
	s.running.Wait()
	return err
}

func (s *servers) stopOps(ctx context.Context, within time.Duration) error {
	if s.ops == nil {
		return nil
	}
	if err := s.ops.Shutdown(ctx); err != nil { // it succeeds without requests even if ctx has ended
		return fmt.Errorf("requests of operators were cut off after %v: %w", within, errors.Join(err, s.ops.Close()))
	}
	return nil
}

func (s *servers) stopPublic(ctx context.Context, within time.Duration) error {
	if s.public == nil {
		return nil
	}
	s.gate.Close() // connections that wait in an inherited socket are for the next process
	select {
	case <-s.closed:
	case <-ctx.Done():
	}
	s.public.SetKeepAlivesEnabled(false)
	err := s.front.Drain(ctx)
	// Shutdown closes connections that have sent nothing, but a first request may just arrive there.
	if err = errors.Join(err, s.public.Shutdown(ctx), s.front.Drain(ctx)); err != nil {
		return fmt.Errorf("requests were cut off after %v: %w", within, errors.Join(err, s.public.Close()))
	}
	return nil
}

// A relay passes requests to the handler that show was last called with.
type relay struct{ to atomic.Pointer[http.Handler] }

func (r *relay) show(h http.Handler) { r.to.Store(&h) }

// ServeHTTP implements http.Handler.
func (r *relay) ServeHTTP(w http.ResponseWriter, req *http.Request) { (*r.to.Load()).ServeHTTP(w, req) }

// A phase says why the service is not ready. It may be used concurrently.
type phase struct{ why atomic.Pointer[error] }

var (
	errStarting = errors.New("the service is starting")
	errStopping = errors.New("the service is stopping")
)

func (p *phase) set(why error) { p.why.Store(&why) }

// err returns nil while the service is ready.
func (p *phase) err() error {
	if why := p.why.Load(); why != nil {
		return *why
	}
	return errStarting
}
