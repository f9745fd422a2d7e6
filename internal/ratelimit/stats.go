package ratelimit

// Stats are figures of this process, for metrics.
type Stats struct {
	Workspaces, Keys int
	Bans             int   // bans that run
	Addresses        int   // places taken in the table of addresses
	AddressCapacity  int   // places in it
	OverflowAdmitted int64 // requests admitted today from addresses for which it had no place
	FailedSaves      int64 // calls of Save that failed
}

// Stats returns the figures of this moment. It looks at every key, so call it once in some seconds at most.
func (l *Limiter) Stats() Stats {
	now := l.now().UnixNano()
	s := Stats{FailedSaves: l.failedSaves.Load()}
	s.Addresses, s.AddressCapacity, s.OverflowAdmitted = l.addresses.occupancy(now)
	l.mu.RLock()
	defer l.mu.RUnlock()
	s.Workspaces, s.Keys = len(l.workspaces), len(l.callers)
	for _, c := range l.callers {
		c.subject.mu.Lock()
		if c.bannedUntil(now) != 0 {
			s.Bans++
		}
		c.subject.mu.Unlock()
	}
	return s
}

// occupancy returns how many places are taken and how many there are, and what was admitted today without one.
func (t *addressTable) occupancy(now int64) (taken, size int, overflow int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.overflow.mu.Lock()
	defer t.overflow.mu.Unlock()
	return len(t.places), t.size, t.overflow.windows.current(now).dayUsed
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
