package ratelimit

import (
	"context"
	"errors"
	"maps"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// servers are those that a URL leads to: one, the master that sentinels name, or the masters of a cluster.
type servers struct {
	target
	sentinels *sentinels             // nil: there are none
	routes    atomic.Pointer[routes] // nil: not known yet
	again     chan struct{}          // asks for new routes
	known     known

	ctx     context.Context //nolint:containedctx // the life of what runs here, not of a call
	stop    context.CancelFunc
	running sync.WaitGroup
}

// known are the servers by their addresses; the master that sentinels name is there by that name.
type known struct {
	mu     sync.Mutex
	byName map[string]*server
}

// get returns the server of a name, which is made if there is none. The caller holds mu.
func (k *known) get(name string, create func() *server) *server {
	one := k.byName[name]
	if one == nil {
		one = create()
		k.byName[name] = one
	}
	return one
}

// routes say which server holds a key.
type routes struct {
	one   *server
	slots []*server // of a cluster; nil: there is none
}

var errNoServer = errors.New("no server holds this part of the cluster")

func (r *routes) of(key string) (*server, error) {
	s := r.one
	if r.slots != nil {
		s = r.slots[slotOf(key)]
	}
	if s == nil {
		return nil, errNoServer
	}
	return s, nil
}

func newServers(t target) *servers {
	s := &servers{target: t, again: make(chan struct{}, 1), known: known{byName: map[string]*server{}}}
	if t.master != "" {
		s.sentinels = &sentinels{target: t, addresses: t.addresses}
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s
}

// discover learns the routes, if it does not know them yet, within the time of one connection.
func (s *servers) discover() error {
	if s.routes.Load() != nil {
		return nil
	}
	if s.sentinels != nil {
		return s.discoverMaster()
	}
	switch err := s.learnCluster(); {
	case err == nil:
		s.running.Go(func() { s.every(rechecking, func() { _ = s.learnCluster() }) }) // or else the next time
	case errors.Is(err, errNoCluster):
		s.routes.Store(&routes{one: s.named(s.addresses[0])})
	default:
		return err
	}
	return nil
}

// every calls f at intervals, and soon when asked to, until the end.
func (s *servers) every(interval time.Duration, f func()) {
	tick := time.NewTicker(probing)
	defer tick.Stop()
	for last := time.Now(); ; {
		select {
		case <-s.ctx.Done():
			return
		case <-tick.C:
		}
		asked := false
		select {
		case <-s.again:
			asked = true
		default:
		}
		if asked || time.Since(last) >= interval {
			f()
			last = time.Now()
		}
	}
}

// doubt has the routes looked at again soon.
func (s *servers) doubt() {
	select {
	case s.again <- struct{}{}:
	default:
	}
}

// named returns the server with an address.
func (s *servers) named(address string) *server {
	s.known.mu.Lock()
	defer s.known.mu.Unlock()
	return s.add(address)
}

// told is named for a server that a refusal names.
func (s *servers) told(address string) *server {
	s.known.mu.Lock()
	defer s.known.mu.Unlock()
	one := s.add(address)
	one.told = time.Now()
	return one
}

// add returns the server with an address. The caller holds known.mu.
func (s *servers) add(address string) *server {
	return s.known.get(address, func() *server {
		host, _, _ := net.SplitHostPort(address) // "" of a socket, which tells of no others
		return newServer(host, func(ctx context.Context) (*link, error) { return s.dial(ctx, address) })
	})
}

// all returns the servers, in the order of their addresses.
func (s *servers) all() (all []*server) {
	s.known.mu.Lock()
	defer s.known.mu.Unlock()
	for _, address := range slices.Sorted(maps.Keys(s.known.byName)) {
		all = append(all, s.known.byName[address])
	}
	return all
}

// check ends links that are dead.
func (s *servers) check() {
	for _, one := range s.all() {
		one.check()
	}
}

// close ends all connections. It may be repeated.
func (s *servers) close() {
	s.stop()
	s.running.Wait()
	for _, one := range s.all() {
		one.close()
	}
}
