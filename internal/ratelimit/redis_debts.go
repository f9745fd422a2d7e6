package ratelimit

import "maps"

// pay tells Redis what this node knows and Redis does not: bans that were set, and what was admitted without it. It
// stops at the first call that fails; the rest stays for the next time.
func (r *Redis) pay() error {
	r.settle.Lock()
	defer r.settle.Unlock()
	return r.payAll()
}

// payAll is pay for who holds settle.
func (r *Redis) payAll() error {
	r.mu.Lock()
	bans, debts, owed := maps.Clone(r.bans), r.debts, maps.Clone(r.owed)
	r.debts = map[*shared]*Caller{}
	r.mu.Unlock()
	for id := range bans {
		if err := r.tell(id); err != nil {
			r.remember(debts)
			return err
		}
	}
	for s, c := range debts {
		if err := r.payFor(c); err != nil {
			r.remember(debts)
			return err
		}
		delete(debts, s)
	}
	for subject := range owed {
		if err := r.payForAddress(subject); err != nil {
			return err
		}
	}
	return nil
}

func (r *Redis) remember(debts map[*shared]*Caller) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.Copy(r.debts, debts)
}

// payFor settles what a caller's workspace owes. If Redis took it but the answer does not come in time, it is owed still,
// and counts twice in the end.
func (r *Redis) payFor(c *Caller) error {
	q := r.ask(c, modeSettle)
	if q.add.none() {
		return nil
	}
	a, err := r.call(&q)
	if err != nil {
		r.owe(c, &q)
		return err
	}
	c.ws.mu.Lock()
	defer c.ws.mu.Unlock()
	c.key.shared.learn(&a, &q, &c.ws.windows)
	return nil
}

// change notes a ban that Redis does not know yet, or with nil that one was lifted.
func (r *Redis) change(keyID string, b *Ban) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bans[keyID] = b
	r.untold.Store(int64(len(r.bans)))
}

func (r *Redis) isChanging(keyID string) bool {
	if r.untold.Load() == 0 {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	_, yes := r.bans[keyID]
	return yes
}

// tell has Redis know of a change of a ban. One of a key without a handle waits for the handle.
func (r *Redis) tell(keyID string) error {
	r.mu.Lock()
	b, changed := r.bans[keyID]
	r.mu.Unlock()
	c := r.handle(keyID)
	if !changed || c == nil {
		return nil
	}
	mode := modeLift
	if b != nil {
		mode = modeBan
	}
	q := r.ask(c, mode)
	q.ban = b
	a, err := r.call(&q)
	if err != nil {
		r.owe(c, &q)
		return err
	}
	r.told(c, b, &a, &q)
	return nil
}

// handle returns the handle of a key that Caller has returned, or nil.
func (r *Redis) handle(keyID string) *Caller {
	r.m.mu.RLock()
	c := r.m.callers[keyID]
	r.m.mu.RUnlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	if c == nil || c.key.shared == nil {
		return nil
	}
	return c
}

// told takes over the answer to a change, unless there has been another since.
func (r *Redis) told(c *Caller, b *Ban, a *answer, q *question) {
	r.mu.Lock()
	now, changed := r.bans[c.key.id]
	current := changed && now == b
	if current {
		delete(r.bans, c.key.id)
		r.untold.Store(int64(len(r.bans)))
	}
	r.mu.Unlock()
	c.ws.mu.Lock()
	defer c.ws.mu.Unlock()
	c.key.shared.learn(a, q, &c.ws.windows)
	if current && q.sequence > c.key.answered {
		c.key.answered = q.sequence
		c.key.penalty = a.penalty
		c.penalised = !a.penalty.clear()
	}
}
