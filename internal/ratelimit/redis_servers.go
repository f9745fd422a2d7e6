package ratelimit

import (
	"context"
	"errors"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gomodule/redigo/redis"
)

// servers are those that a URL leads to: one, the master that sentinels name, or the masters of a cluster.
type servers struct {
	target
	routes atomic.Pointer[routes] // nil: not known yet
	again  chan struct{}          // asks for new routes
	known  known

	ctx     context.Context //nolint:containedctx // the life of what runs here, not of a call
	stop    context.CancelFunc
	running sync.WaitGroup
}

// known are the servers by their addresses.
type known struct {
	mu     sync.Mutex
	byName map[string]*server
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
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s
}

// discover learns the routes, if it does not know them yet, within the time of one connection.
func (s *servers) discover() error {
	if s.routes.Load() != nil {
		return nil
	}
	if s.master != "" {
		return s.discoverMaster()
	}
	first := s.named(s.addresses[0])
	isCluster, err := s.learnCluster()
	if err != nil {
		return err
	}
	if isCluster {
		s.running.Go(func() { s.every(rechecking, func() { _, _ = s.learnCluster() }) }) // or else the next time
		return nil
	}
	s.routes.Store(&routes{one: first})
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
	one := s.known.byName[address]
	if one == nil {
		host, _, _ := net.SplitHostPort(address) // "" of a socket, which tells of no others
		one = newServer(host, func(ctx context.Context) (*link, error) { return s.dial(ctx, address) })
		s.known.byName[address] = one
	}
	return one
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
	all := s.all()
	for _, one := range all {
		one.check()
	}
}

// close ends all connections. It may be repeated.
func (s *servers) close() {
	s.stop()
	s.running.Wait()
	all := s.all()
	for _, one := range all {
		one.close()
	}
}

// discoverMaster finds the master by way of the sentinels, and looks from time to time whether it is another now.
func (s *servers) discoverMaster() error {
	sentinels := &sentinels{target: s.target, addresses: s.addresses}
	s.known.mu.Lock()
	one := s.known.byName[s.master]
	if one == nil {
		one = newServer("", sentinels.dialMaster)
		s.known.byName[s.master] = one
	}
	s.known.mu.Unlock()
	if _, err := one.link(time.Now().Add(connecting)); err != nil {
		return err
	}
	s.routes.Store(&routes{one: one})
	s.running.Go(func() { s.every(rechecking, func() { sentinels.recheck(s.ctx, one) }) })
	return nil
}

// sentinels know which server is the master. They are asked in the clear, and without a password.
type sentinels struct {
	target

	mu        sync.Mutex
	addresses []string // the first is the one that answered last
}

// recheck ends the link with a server that the sentinels have replaced.
func (s *sentinels) recheck(ctx context.Context, one *server) {
	ctx, cancel := context.WithTimeout(ctx, connecting)
	defer cancel()
	address, err := s.whoIsMaster(ctx)
	if l := one.current.Load(); err == nil && l != nil && l.address != address {
		l.cut()
	}
}

// dialMaster makes a link with the master.
func (s *sentinels) dialMaster(ctx context.Context) (*link, error) {
	address, err := s.whoIsMaster(ctx)
	if err != nil {
		return nil, err
	}
	l, err := s.dial(ctx, address)
	if err != nil {
		return nil, err
	}
	role, err := redis.Values(redis.DoContext(l.conn, ctx, "ROLE"))
	if err == nil && len(role) > 0 {
		if name, _ := redis.String(role[0], nil); name == "master" {
			return l, nil
		}
	}
	l.cut()
	return nil, errors.Join(errors.New("the server that sentinels name is no master"), err)
}

// whoIsMaster asks one sentinel after the other.
func (s *sentinels) whoIsMaster(ctx context.Context) (master string, err error) {
	s.mu.Lock()
	addresses := slices.Clone(s.addresses)
	s.mu.Unlock()
	var all []error
	for i, address := range addresses {
		master, others, err := s.ask(ctx, address, len(addresses)-i)
		if err == nil {
			s.learn(address, others)
			return master, nil
		}
		all = append(all, err)
	}
	return "", errors.Join(all...)
}

// learn notes a sentinel that answered, and those that it knows.
func (s *sentinels) learn(answered string, others []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addresses = unique(append(append([]string{answered}, s.addresses...), others...))
}

func unique(all []string) (once []string) {
	for _, one := range all {
		if !slices.Contains(once, one) {
			once = append(once, one)
		}
	}
	return once
}

// ask asks one sentinel, in its share of the time that is left for several.
func (s *sentinels) ask(ctx context.Context, address string, several int) (master string, others []string, err error) {
	if end, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(end)/time.Duration(several))
		defer cancel()
	}
	bare := target{network: s.network}
	l, err := bare.dial(ctx, address)
	if err != nil {
		return "", nil, err
	}
	defer l.cut()
	pair, err := redis.Strings(redis.DoContext(l.conn, ctx, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", s.master))
	if err != nil {
		return "", nil, err
	}
	if len(pair) != 2 {
		return "", nil, errAnswer
	}
	rows, err := redis.Values(redis.DoContext(l.conn, ctx, "SENTINEL", "SENTINELS", s.master))
	if err != nil {
		return "", nil, err
	}
	master, ok := join(pair[0], pair[1])
	if !ok {
		return "", nil, errAnswer
	}
	return master, addressesIn(rows), nil
}

// addressesIn returns the addresses in a list of servers as a sentinel describes them.
func addressesIn(rows []any) (all []string) {
	for _, row := range rows {
		about, err := redis.StringMap(row, nil)
		if err != nil || strings.Contains(about["flags"], "down") {
			continue
		}
		if address, ok := join(about["ip"], about["port"]); ok {
			all = append(all, address)
		}
	}
	return all
}
