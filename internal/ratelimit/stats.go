package ratelimit

// Stats are figures of what this process knows, for metrics.
type Stats struct {
	Workspaces, Keys int
	Bans             int   // bans that run
	Addresses        int   // places taken in the table of addresses
	AddressCapacity  int   // places in it
	OverflowAdmitted int64 // requests admitted today from addresses for which it had no place
	FailedSaves      int64 // saves by Keep that failed
}

// Stats returns the figures as they are now. It looks at every key: for once in some seconds.
func (m *Memory) Stats() Stats {
	now := m.now().UnixNano()
	s := Stats{FailedSaves: m.failedSaves.Load()}
	s.Addresses, s.AddressCapacity, s.OverflowAdmitted = m.addresses.occupancy(now)
	m.mu.RLock()
	defer m.mu.RUnlock()
	s.Workspaces, s.Keys = len(m.workspaces), len(m.callers)
	for _, c := range m.callers {
		if c.isBanned(now) {
			s.Bans++
		}
	}
	for _, b := range m.bans {
		if b.Until.UnixNano() > now {
			s.Bans++
		}
	}
	return s
}

func (c *Caller) isBanned(now int64) bool {
	c.subject.mu.Lock()
	defer c.subject.mu.Unlock()
	return c.penalty.banAt(now) != 0
}

// occupancy returns the places taken and in all, and what was admitted today without one.
func (t *addressTable) occupancy(now int64) (taken, size int, overflow int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.overflow.mu.Lock()
	defer t.overflow.mu.Unlock()
	return len(t.places), t.size, t.overflow.known(now).dayUsed
}

// RedisStats are figures of a Redis limiter for metrics. Each decision is one of the first four.
type RedisStats struct {
	Redis       int64 // decisions that Redis made
	Cached      int64 // refusals that the node knew already, without a call
	Local       int64 // decisions that the node made without Redis
	Unavailable int64 // requests that got no decision, as Redis did not answer and Deny was chosen

	Failed int64 // calls that failed
	Late   int64 // calls that came to Redis after their deadline, and did nothing
	Away   bool  // the breaker is open: Redis is not asked
	Aways  int64 // how often it has opened
}

// RedisStats returns the figures as they are now.
func (r *Redis) RedisStats() RedisStats {
	c := &r.counts
	return RedisStats{
		Redis: c.redis.Load(), Cached: c.cached.Load(), Local: c.local.Load(), Unavailable: c.unavailable.Load(),
		Failed: c.failed.Load(), Late: c.late.Load(), Away: r.breaker.open.Load(), Aways: r.breaker.opened.Load(),
	}
}
