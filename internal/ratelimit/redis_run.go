package ratelimit

import (
	"context"
	"maps"
	"slices"
	"time"
)

// NewRedis returns a limiter that counts in Redis. It tries to connect for a second at most; if Redis does not answer,
// the limiter begins without it. It returns an error if the URL cannot be used. Close ends it.
func NewRedis(o RedisOptions) (*Redis, error) {
	r, err := newRedis(o)
	if err != nil {
		return nil, err
	}
	r.start()
	return r, nil
}

// start begins to keep in touch with Redis.
func (r *Redis) start() {
	ctx, cancel := context.WithCancel(context.Background())
	r.stop = cancel
	if err := r.probe(); err != nil && !r.warned {
		r.away(err)
	}
	go func() {
		defer close(r.done)
		r.run(ctx)
	}()
}

// run keeps in touch with Redis until ctx ends: to find it back while it is away, and else to tell it what single failed
// calls have left, and to follow its clock.
func (r *Redis) run(ctx context.Context) {
	tick := time.NewTicker(probing)
	defer tick.Stop()
	for last := time.Now(); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		switch {
		case r.breaker.open.Load():
			_ = r.probe() // tried again
		case time.Since(last) >= checking:
			last = time.Now()
			r.check()
		default:
			_ = r.report() // counted, and tried again
		}
	}
}

// Close ends the conversation with Redis, after telling it what was admitted without it, if it answers. It may be
// repeated. Decisions after that are those of a node without Redis.
func (r *Redis) Close() {
	r.stop()
	<-r.done
	if !r.breaker.open.Load() {
		_ = r.report() // what is not told is saved
	}
	r.breaker.open.Store(true)
	if c := r.client.Swap(nil); c != nil {
		(*c).Close()
	}
}

// probe asks whether Redis answers, and if it does, tells it what was admitted without it and closes the breaker.
func (r *Redis) probe() error {
	err := r.connect()
	if err == nil {
		err = r.ping()
	}
	if err == nil {
		err = r.report()
	}
	if err != nil {
		r.complain(err)
		return err
	}
	r.warned = false
	if r.breaker.close() {
		r.log.Info("Redis answers; requests are counted there")
	}
	return nil
}

// complain logs why Redis does not answer; for everyone to see, once, if it takes somebody to change that.
func (r *Redis) complain(err error) {
	if isRefusal(err) && !r.warned {
		r.warned = true
		r.log.Warn("Redis refuses this node; requests are counted without it", "err", err)
		return
	}
	r.log.Debug("Redis does not answer", "err", err)
}

// report tells Redis what this node admitted without it. It stops at the first call that fails; the rest stays for the
// next time.
func (r *Redis) report() error {
	r.mu.Lock()
	owing := slices.Collect(maps.Keys(r.owing))
	r.mu.Unlock()
	for _, s := range owing {
		if err := r.reportOf(s); err != nil {
			return err
		}
	}
	return nil
}

func (r *Redis) reportOf(s *subject) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.ask(nil, modeReport)
	if q.reports() {
		s.mu.Unlock()
		a, err := r.call(&q)
		s.mu.Lock()
		if err != nil {
			return err
		}
		s.learn(nil, &q, &a)
	}
	if s.remote.local == s.remote.reported {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.owing, s)
	}
	return nil
}
