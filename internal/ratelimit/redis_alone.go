package ratelimit

// admitAlone decides without Redis, as OnFailure says, from what was last known. Bans hold, and go on being counted.
func (r *Redis) admitAlone(c *Caller) (d Decision) {
	r.counts.alone.Add(1)
	ws := c.ws
	now := r.time().UnixNano()
	ws.mu.Lock()
	limits := ws.limits
	if r.onFailure == Deny {
		d = ws.unavailable(c, now)
		ws.mu.Unlock()
		return d
	}
	if r.onFailure == ShareOut {
		ws.limits = shareOut(limits, c.key.shared.known.at(now), r.nodes.Load())
	}
	r.m.decide(c, now, &d)
	restate(&d, limits)
	ws.limits = limits
	owes := d.Admitted()
	if owes {
		c.key.shared.owed = c.key.shared.owed.owe(ws.windows)
	}
	ws.mu.Unlock()
	if owes {
		r.indebt(c)
	}
	if d.NewBan != nil {
		r.change(c.key.id, d.NewBan)
	}
	return d
}

// unavailable refuses for a while, unless the key is banned.
func (ws *workspace) unavailable(c *Caller, now int64) Decision {
	as := workspace{limits: ws.limits, windows: ws.windows.at(now)}
	if _, until := c.key.penalty.banAt(now); until != 0 {
		return as.banned(until, now)
	}
	return as.windows.unavailable(as.limits, now)
}

func (w windows) unavailable(l Limits, now int64) Decision {
	d := w.decision(Admitted, l, now)
	d.Outcome, d.RetryAfter = Unavailable, 1
	return d
}

// shareOut returns the limits up to which one of n nodes may count, from what all together have used.
func shareOut(l Limits, used windows, n int64) Limits {
	return Limits{
		PerMinute: used.minuteUsed + max(0, l.PerMinute-used.minuteUsed)/n,
		PerDay:    used.dayUsed + max(0, l.PerDay-used.dayUsed)/n,
	}
}

// restate says in terms of the caller's limits what was decided by smaller ones: what remains stays the same.
func restate(d *Decision, l Limits) {
	d.Minute = d.Minute.restate(l.PerMinute)
	d.Day = d.Day.restate(l.PerDay)
}

func (w Window) restate(limit int64) Window {
	if w.Limit == limit {
		return w
	}
	return Window{Limit: limit, Used: limit - w.Remaining(), Reset: w.Reset}
}
