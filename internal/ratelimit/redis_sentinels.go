package ratelimit

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gomodule/redigo/redis"
)

// discoverMaster finds the master by way of the sentinels, and looks from time to time whether it is another now.
func (s *servers) discoverMaster() error {
	s.known.mu.Lock()
	one := s.known.get(s.master, func() *server { return newServer("", s.sentinels.dialMaster) })
	s.known.mu.Unlock()
	if _, err := one.link(time.Now().Add(connecting)); err != nil {
		return err
	}
	s.routes.Store(&routes{one: one})
	s.running.Go(func() { s.every(rechecking, func() { s.sentinels.recheck(s.ctx, one) }) })
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
