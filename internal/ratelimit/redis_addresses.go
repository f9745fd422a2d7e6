package ratelimit

import (
	"context"
	"net/netip"
)

// The addresses of a node have their places in the memory's table, which tells what was last known of each and bounds
// their number in Redis: those without a place share one key there too.

// subject returns the name under which an address is counted.
func (t *addressTable) subject(p *addressPlace) string {
	if p == &t.overflow {
		return overflowSubject
	}
	return addressSubject(p.addr)
}

func (r *Redis) admitAddress(a netip.Addr) Decision {
	if d, ok := r.refuseAddressAgain(a); ok {
		return d
	}
	if r.breaker.open.Load() {
		return r.admitAddressAlone(a)
	}
	q := r.askAddress(a, modeAdmit)
	answer, err := r.call(&q)
	if err != nil {
		r.oweAddress(&q)
		return r.admitAddressAlone(a)
	}
	r.counts.decided.Add(1)
	r.learnAddress(a, &answer)
	return answer.windows.decision(answer.outcome, q.limits, answer.now)
}

// refuseAddressAgain refuses an address that is known to be refused still.
func (r *Redis) refuseAddressAgain(a netip.Addr) (d Decision, ok bool) {
	now, latest, known := r.clock.now()
	if !known {
		return d, false
	}
	now = micros(now) * microsecond
	t := r.m.addresses
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.look(a, now)
	if p == nil {
		return d, false
	}
	w, o := p.windows.admit(t.limits, now)
	if o == Admitted || w.end(o, now) <= latest {
		return d, false
	}
	r.counts.denied.Add(1)
	return w.decision(o, t.limits, now), true
}

// askAddress returns the question about an address.
func (r *Redis) askAddress(a netip.Addr, mode int) question {
	t, now := r.m.addresses, r.time().UnixNano()
	t.mu.Lock()
	defer t.mu.Unlock()
	q := question{mode: mode, limits: t.limits}
	p := t.look(a, now)
	if p == nil && mode == modePeek {
		q.key = keyOf(addressSubject(addressOf(a)))
		return q
	}
	if p == nil {
		p = t.place(a, now)
	}
	subject := t.subject(p)
	q.key = keyOf(subject)
	if mode == modePeek {
		return q
	}
	var owes bool
	if q.add, owes = r.takeOwed(subject); !owes {
		q.known = p.windows
	}
	return q
}

func (r *Redis) takeOwed(subject string) (windows, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	w, ok := r.owed[subject]
	delete(r.owed, subject)
	return w, ok
}

func (r *Redis) oweAddress(q *question) {
	if q.add.none() {
		return
	}
	r.counts.repeated.Add(q.add.most())
	subject, now := q.key[len(keyPrefix):], r.time().UnixNano()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.owed[subject] = q.add.plus(r.owed[subject], now)
}

func (r *Redis) learnAddress(a netip.Addr, answer *answer) {
	t := r.m.addresses
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.look(a, answer.now); p != nil {
		p.windows = answer.windows
		t.change(p)
	}
}

func (r *Redis) admitAddressAlone(a netip.Addr) Decision {
	r.counts.alone.Add(1)
	t, now := r.m.addresses, r.time().UnixNano()
	t.mu.Lock()
	defer t.mu.Unlock()
	if r.onFailure == Deny {
		w := t.fresh(now)
		if p := t.look(a, now); p != nil {
			w = p.windows.at(now)
		}
		return w.unavailable(t.limits, now)
	}
	p := t.place(a, now)
	subject := t.subject(p)
	r.mu.Lock()
	defer r.mu.Unlock()
	limits, owed := t.limits, r.owed[subject]
	if r.onFailure == ShareOut {
		limits = shareOut(limits, p.windows.at(now).minus(owed.at(now)), r.nodes.Load())
	}
	var o Outcome
	if p.windows, o = p.windows.admit(limits, now); o == Admitted {
		r.owed[subject] = owed.owe(p.windows)
	}
	t.change(p)
	d := p.windows.decision(o, limits, now)
	restate(&d, t.limits)
	return d
}

// minus returns what was known before others were counted in the same windows.
func (w windows) minus(owed windows) windows {
	if owed.minuteUsed > 0 && w.minuteUsed > 0 {
		w.minuteUsed = max(0, w.minuteUsed-owed.minuteUsed)
	}
	if owed.day == w.day {
		w.dayUsed = max(0, w.dayUsed-owed.dayUsed)
	}
	return w
}

func (r *Redis) payForAddress(subject string) error {
	q := question{key: keyOf(subject), mode: modeSettle, limits: r.m.addresses.limits}
	q.add, _ = r.takeOwed(subject)
	if q.add.none() {
		return nil
	}
	if _, err := r.call(&q); err != nil {
		r.oweAddress(&q)
		return err
	}
	return nil
}

func (r *Redis) peekAddress(ctx context.Context, a netip.Addr) Decision {
	if r.breaker.open.Load() {
		return r.m.PeekAddress(ctx, a)
	}
	q := r.askAddress(a, modePeek)
	answer, err := r.call(&q)
	if err != nil {
		return r.m.PeekAddress(ctx, a)
	}
	_, o := answer.windows.admit(q.limits, answer.now)
	return answer.windows.decision(o, q.limits, answer.now)
}
