package httpapi

import (
	"net/netip"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/http1"
	"example.com/petstore/internal/ratelimit"
)

// A Page is what the console is given with a request: the one place in which
// requests are counted and kept few, so that its pages are no way around it. It
// holds until the request is answered.
type Page struct {
	x *exchange
	guard
}

// A guard counts what pages do, and keeps it little, by what the pipeline has.
type guard struct {
	auth  *authenticator
	meter *meter
	gates *gates
	now   func() time.Time
}

// Wait returns 0, unless the request is an attempt to sign in from an address
// that has spent its requests: then how long to wait before another, and the
// attempt must be refused unheard.
func (p *Page) Wait() time.Duration {
	if !p.x.guesses() {
		return 0
	}
	return time.Duration(p.x.decision.RetryAfter) * time.Second
}

// Addr returns the address of the client.
func (p *Page) Addr() netip.Addr { return clientAddr(p.x.r, p.auth.trusted) }

// Admit decides on one request of the key of a session, as on one of the API,
// and has the response and the log say so.
func (p *Page) Admit(e *access.Entry[*ratelimit.Caller]) ratelimit.Decision {
	x := p.x
	http1.Recognize(x.r.Context())
	x.entry, x.counted = e, true
	p.meter.settle(x, p.meter.limiter.Admit(x.ctx, e.Slot))
	return x.decision
}

// Show has the headers of the response describe a decision on the key of a
// session that was counted elsewhere, or not at all.
func (p *Page) Show(e *access.Entry[*ratelimit.Caller], d ratelimit.Decision) {
	http1.Recognize(p.x.r.Context())
	p.x.entry = e
	setLimits(p.x, &d)
}

// Enter waits for room among the reads or the writes, as an operation of the
// API does. Whoever was let in must leave.
func (p *Page) Enter(write bool) (leave func(), err error) {
	gate := p.gates.reads
	if write {
		gate = p.gates.writes
	}
	if !gate.enter(p.now()) {
		return nil, errOverloaded
	}
	return gate.leave, nil
}
