package ratelimit

// Stats are figures of this process, for metrics.
type Stats struct {
	Addresses   int   // places taken in the table of addresses
	FailedSaves int64 // calls of Save that failed
}

// Stats returns the figures of this moment.
func (l *Limiter) Stats() Stats {
	t := l.addresses
	t.mu.Lock()
	defer t.mu.Unlock()
	return Stats{Addresses: len(t.places), FailedSaves: l.failedSaves.Load()}
}

// RedisStats are figures of a Redis limiter for metrics. Each decision is one of the first four.
type RedisStats struct {
	Redis       int64 // decisions that Redis made
	Cached      int64 // refusals that the node made without a call, because it knew of the ban or the full window
	Local       int64 // decisions that the node made without Redis
	Unavailable int64 // requests that got no decision, because Redis did not answer and Deny is set

	Failed int64 // calls that failed
	Away   bool  // Redis is not asked
}

// RedisStats returns the figures of this moment.
func (r *Redis) RedisStats() RedisStats {
	c := &r.counts
	return RedisStats{
		Redis: c.redis.Load(), Cached: c.cached.Load(), Local: c.local.Load(), Unavailable: c.unavailable.Load(),
		Failed: c.failed.Load(), Away: r.away.Load(),
	}
}
