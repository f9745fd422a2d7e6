// Package fairshare divides a capacity among workspaces, and among addresses
// of callers without a key. Each may hold what nobody else waits for, and
// gives way when another comes that holds less: max-min fairness, as networks
// use it (RFC 970 §4). It knows nothing of what is held, such as connections,
// requests, or bytes in memory.
package fairshare

import (
	"container/list"
	"context"
	"errors"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// A Holder is a workspace, or the address of a caller without a key. All such
// callers together count as one workspace, and each address among them as a
// part of it. The zero Holder is for callers who cannot be told apart.
type Holder struct {
	Workspace int64      // 0 without a key
	Address   netip.Addr // ignored with a workspace
}

// HolderAt returns the Holder of callers without a key at an address: of IPv6 the /64,
// since a subscriber has no less.
func HolderAt(a netip.Addr) Holder {
	if a = a.Unmap().WithZone(""); a.Is6() {
		a = netip.PrefixFrom(a, 64).Masked().Addr()
	}
	return Holder{Address: a}
}

// Options are the bounds of a Pool.
type Options struct {
	// Capacity is how many units are held at once.
	Capacity int64

	// Each is how many units one workspace, or one address, holds at once. It
	// does not bound the zero Holder; 0 bounds nobody.
	Each int64

	// Queue bounds the units that holders wait for while no share gives way. A holder
	// may wait for as many as are then left of it: so one alone waits for half of
	// them, and there is room for one that comes and waits for little. Each holder may wait
	// for a 128th of Queue, even if all together then wait for more than Queue.
	Queue int64

	// Wait is how long each waits; 0 is as long as its context lasts.
	Wait time.Duration
}

// Errors of Enter.
var (
	ErrFull = errors.New("fairshare: the capacity is in use")
	ErrEach = errors.New("fairshare: the holder has as much as one may have")
)

// Stats are numbers of a pool, for metrics.
type Stats struct {
	Capacity int64
	Used     int64  // units that are held now
	Waiting  int64  // callers that wait now
	Refused  uint64 // that did not get a share in time, since the start
	Yielded  uint64 // shares that were asked to give way, since the start
}

// A Pool is a capacity that is divided. It may be used concurrently.
type Pool struct {
	o Options

	mu       sync.Mutex
	accounts map[Holder]*account
	keyless  account // all callers without a key
	all      account // workspaces, and keyless
	ending   int64   // units that are held and were asked to give way
	queue    queue
	admitted uint64 // from the queue, since the start
	refused  uint64
	yielded  uint64
}

// New returns a pool of which nothing is held.
func New(o Options) *Pool {
	p := &Pool{o: o, accounts: make(map[Holder]*account)}
	p.keyless.parent = &p.all
	p.all.members = ranking{&p.keyless}
	return p
}

// A Share is a part of the capacity that is held. Its methods may be called
// concurrently.
type Share struct {
	pool    *Pool
	size    int64
	yield   func()
	account *account      // whose it is; nil before it is held and after Leave
	ending  bool          // it was asked to give way
	place   *list.Element // in the account's shares; nil if it cannot give way, or was asked to
}

// Enter returns a share of size units for h once they are free; a size above
// the capacity is the capacity. It waits if they are not free, as long as
// Options and ctx allow, behind those who hold less.
//
// The pool calls yield once, if it is not nil, when the share has to give way:
// a holder with less needs the units. It must not block, and Leave must
// follow soon. The share that gives way is the oldest of the workspace that
// holds most; among callers without a key, of the address that holds most, even
// if the one that comes would hold as much or is of that address.
//
// Enter returns ErrEach if h would hold more than one may, ErrFull if nobody
// gives way and no more can wait, or the time to wait is over, and ctx's error
// if that ends first.
func (p *Pool) Enter(ctx context.Context, h Holder, size int64, yield func()) (*Share, error) {
	s := &Share{pool: p, size: min(size, p.o.Capacity), yield: yield}
	p.mu.Lock()
	a := p.accountOf(h)
	if p.o.Each > 0 && h != (Holder{}) && a.held+a.waiting+s.size > p.o.Each {
		p.dropIfUnused(a)
		p.refused++
		p.mu.Unlock()
		return nil, ErrEach
	}
	if p.queue.length == 0 && p.all.held+s.size <= p.o.Capacity {
		p.hold(s, a)
		p.mu.Unlock()
		return s, nil
	}
	w := &waiter{share: s, account: a, ready: make(chan struct{})}
	victims := p.makeRoom(w)
	if !w.promised && !p.mayQueue(a, s.size) {
		p.dropIfUnused(a)
		p.refused++
		p.mu.Unlock()
		return nil, ErrFull
	}
	p.queue.add(w)
	p.admit()
	p.mu.Unlock()
	for _, victim := range victims {
		victim.yield()
	}
	return p.await(ctx, w)
}

// await waits until w is admitted, or must wait no longer.
func (p *Pool) await(ctx context.Context, w *waiter) (*Share, error) {
	var over <-chan time.Time
	if p.o.Wait > 0 {
		timer := time.NewTimer(p.o.Wait)
		defer timer.Stop()
		over = timer.C
	}
	var err error
	select {
	case <-w.ready:
	case <-over:
		err = p.giveUp(w, ErrFull)
	case <-ctx.Done():
		err = p.giveUp(w, ctx.Err())
	}
	if err != nil {
		return nil, err
	}
	return w.share, nil
}

// giveUp takes a waiter from the queue and returns why, unless it was admitted already.
func (p *Pool) giveUp(w *waiter, why error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if w.share.account != nil {
		return nil
	}
	p.queue.remove(w)
	p.dropIfUnused(w.account)
	p.refused++
	p.admit() // those behind it may fit
	return why
}

// makeRoom asks shares of others to give way to w, and returns them. It asks
// none if all that would give way were not enough.
func (p *Pool) makeRoom(w *waiter) (victims []*Share) {
	need := p.all.held - p.ending + p.all.promised + w.share.size - p.o.Capacity
	for need > 0 {
		victim := p.victim(w)
		if victim == nil {
			for _, s := range slices.Backward(victims) {
				p.unask(s)
			}
			return nil
		}
		p.ask(victim)
		victims = append(victims, victim)
		need -= victim.size
	}
	p.yielded += uint64(len(victims))
	w.promised = true
	w.account.add(sums{promised: w.share.size})
	return victims
}

// victim returns the share that has to give way to w next, or nil. A holder gives way only if
// it still holds as much as w's then.
func (p *Pool) victim(w *waiter) *Share {
	group, most := w.account.group(), p.all.members.first()
	if most != nil && most != group && most.yieldable > group.held+group.promised+w.share.size {
		return most.oldest()
	}
	if group != &p.keyless {
		return nil
	}
	most = group.members.first()
	if most != nil && (most == w.account || most.yieldable >= w.account.held+w.account.promised+w.share.size) {
		return most.oldest()
	}
	return nil
}

// mayQueue reports whether one more of an account may wait for size units: each account may
// wait for as much as it leaves to those beside it, as in switches whose queues share a
// buffer (dynamic thresholds).
func (p *Pool) mayQueue(a *account, size int64) bool {
	left := p.o.Queue
	for above := a.parent; above != nil; above = above.parent {
		left -= above.waiting - above.promised
	}
	return a.waiting-a.promised+size <= max(left, p.o.Queue/128)
}

// admit gives shares to those who wait, those who hold least first.
func (p *Pool) admit() {
	for {
		w := p.queue.next()
		if w == nil || p.all.held+w.share.size > p.o.Capacity {
			return
		}
		p.queue.remove(w)
		p.admitted++
		w.account.admitted, w.account.group().admitted = p.admitted, p.admitted
		p.hold(w.share, w.account)
		close(w.ready)
	}
}

// Move gives the share to another holder, without regard to bounds.
func (s *Share) Move(h Holder) {
	p := s.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.account == nil {
		return
	}
	to := p.accountOf(h)
	if to == s.account {
		return
	}
	p.release(s)
	p.hold(s, to)
	p.admit() // the order may be another
}

// Leave gives the share back. Only the first call has an effect.
func (s *Share) Leave() {
	p := s.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.account != nil {
		p.release(s)
		p.admit()
	}
}

// Stats returns the numbers of the pool.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Stats{p.o.Capacity, p.all.held, int64(p.queue.length), p.refused, p.yielded}
}
