package ratelimit

import (
	"sync"
	"testing"
	"time"

	"example.com/petstore/internal/ratelimit/redistest"
)

// keepChecking does for a limiter what a node does, until the test ends.
func keepChecking(t testing.TB, r *Redis) {
	t.Helper()
	r.Check()
	var running sync.WaitGroup
	running.Go(func() {
		for tick := time.NewTicker(CheckInterval); t.Context().Err() == nil; {
			select {
			case <-tick.C:
				r.Check()
			case <-t.Context().Done():
			}
		}
	})
	t.Cleanup(func() {
		running.Wait()
		r.Close()
	})
}

// newVirtual returns a Redis limiter by the given clock, on a server of its own.
func newVirtual(t testing.TB, cfg Config, now func() time.Time) *Redis {
	t.Helper()
	return newVirtualOn(t, redistest.Start(t), cfg, now)
}

// newVirtualOn returns a Redis limiter by the given clock. It waits longer than 25 ms, so that a busy machine does not
// make it decide alone.
func newVirtualOn(t testing.TB, server *redistest.Server, cfg Config, now func() time.Time) *Redis {
	t.Helper()
	r, err := NewRedis(RedisOptions{URL: server.URL(), Config: cfg, Now: now})
	must(t, err)
	r.virtual = func() int64 { return now().UnixNano() }
	r.clock.ticks = r.virtual
	r.clock.offset.Store(0)
	r.timeout = 10 * time.Second
	r.Check()
	t.Cleanup(r.Close)
	if r.away.Load() {
		t.Fatal("Redis does not answer")
	}
	return r
}
