package ratelimit

import (
	"context"
	"slices"
	"sync/atomic"
	"time"
)

// latencies are the upper bounds of the classes of RedisStats.Latency.
var latencies = [...]time.Duration{
	250 * time.Microsecond, 500 * time.Microsecond, time.Millisecond, 2500 * time.Microsecond,
	5 * time.Millisecond, 10 * time.Millisecond, 25 * time.Millisecond,
}

type redisCounts struct {
	decided, denied, alone, failed, late, repeated atomic.Int64
	classes                                        [len(latencies) + 1]atomic.Int64
	total                                          atomic.Int64 // nanoseconds
}

func (c *redisCounts) observe(d time.Duration) {
	i, _ := slices.BinarySearch(latencies[:], d)
	c.classes[i].Add(1)
	c.total.Add(int64(d))
}

// RedisStats are figures of a Redis limiter for metrics.
type RedisStats struct {
	Decided int64 // decisions that Redis made
	Denied  int64 // refusals known beforehand, without a call
	Alone   int64 // decisions made, or denied, without Redis
	Failed  int64 // calls that failed
	Late    int64 // calls that came to Redis after their deadline, and did nothing

	// Repeated are admissions of an outage that are added again, since the answer to adding them did not come: at most so
	// many count twice.
	Repeated int64

	Away  bool  // the breaker is open: Redis is not asked
	Aways int64 // how often it has opened
	Nodes int64 // last seen alive, this one among them

	Latency      map[float64]uint64 // answered calls by the seconds they took at most, cumulative
	LatencySum   float64            // seconds
	LatencyCount uint64
}

// RedisStats returns the figures as they are now.
func (r *Redis) RedisStats() RedisStats {
	c := &r.counts
	s := RedisStats{
		Decided: c.decided.Load(), Denied: c.denied.Load(), Alone: c.alone.Load(), Failed: c.failed.Load(), Late: c.late.Load(),
		Repeated: c.repeated.Load(),
		Away:     r.breaker.open.Load(), Aways: r.breaker.opened.Load(), Nodes: r.nodes.Load(),
		Latency: make(map[float64]uint64, len(latencies)), LatencySum: time.Duration(c.total.Load()).Seconds(),
	}
	for i := range c.classes {
		s.LatencyCount += uint64(c.classes[i].Load())
		if i < len(latencies) {
			s.Latency[latencies[i].Seconds()] = s.LatencyCount
		}
	}
	return s
}

// Stats returns the figures of what this node knows.
func (r *Redis) Stats() Stats { return r.m.Stats() }

// Restore takes over saved rows, as Memory's does, before the first call of Caller: Redis gets back what it has lost of
// them.
func (r *Redis) Restore(rows Saved) error { return r.m.Restore(rows) }

// Keep saves what this node knows, as Memory's does. The windows are those of all nodes; what a key did is what it did on
// this node.
func (r *Redis) Keep(ctx context.Context, store Store, every time.Duration) error {
	return r.m.Keep(ctx, store, every)
}
