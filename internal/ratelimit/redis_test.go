package ratelimit

import (
	"testing"
	"time"

	"example.com/petstore/internal/ratelimit/redistest"
)

// newVirtual returns a Redis limiter by the given clock, on a server of its own.
func newVirtual(t testing.TB, cfg Config, now func() time.Time) *Redis {
	t.Helper()
	return newVirtualOn(t, redistest.Start(t), cfg, now)
}

// newVirtualOn returns a Redis limiter by the given clock. It waits longer than 25 ms, so that a busy machine does not
// make it decide alone.
func newVirtualOn(t testing.TB, server *redistest.Server, cfg Config, now func() time.Time) *Redis {
	t.Helper()
	r, err := newRedis(RedisOptions{URL: server.URL(), Config: cfg, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	r.virtual = func() int64 { return now().UnixNano() }
	r.clock.ticks = r.virtual
	r.clock.bounds.Store(&bounds{high: microsecond})
	r.timeout = 10 * time.Second
	r.stop = func() {}
	close(r.done) // nothing runs beside the test, whose clock it would see move
	r.probe()
	t.Cleanup(r.Close)
	if r.breaker.open.Load() {
		t.Fatal("Redis does not answer")
	}
	return r
}

// TestFewerStrikesThanStand has the number of strikes lowered while a key has more: the next one bans.
func TestFewerStrikesThanStand(t *testing.T) {
	t.Parallel()
	server, clock := redistest.Start(t), newClock(noon)
	few := DefaultConfig()
	few.Strikes = 5
	before, after := newVirtualOn(t, server, DefaultConfig(), clock.Now), newVirtualOn(t, server, few, clock.Now)
	c := before.Caller(1, "k", narrow)
	before.Admit(t.Context(), c)
	before.Admit(t.Context(), c)
	clock.advance(3 * time.Second)
	for range 10 {
		before.Admit(t.Context(), c)
	}
	if d := after.Admit(t.Context(), after.Caller(1, "k", narrow)); d.Outcome != Banned {
		t.Errorf("strike 11, where 5 ban = %v, want banned", d.Outcome)
	}
}
