package fairshare

import (
	"container/heap"
	"container/list"
	"net/netip"
)

// An account is what a workspace or an address holds and waits for, or what all accounts
// below it do together: that of all callers without a key, and that of the whole pool.
type account struct {
	sums
	holder   Holder
	parent   *account // nil for that of the pool
	waiters  []*waiter
	admitted uint64    // when one of its waiters was, in their order; 0 if none yet
	shares   list.List // its shares that can give way and were not asked to, the oldest first
	members  ranking   // the accounts below it
	index    int       // in the members of parent
}

// sums are units of an account, those of the accounts below it included.
type sums struct {
	held      int64
	yieldable int64 // of them, of shares that can give way and were not asked to
	waiting   int64 // units that waiters ask for
	promised  int64 // of them, units for which others give way
}

// add adds to the sums of the account and of those above it.
func (a *account) add(more sums) {
	for ; a != nil; a = a.parent {
		a.held += more.held
		a.yieldable += more.yieldable
		a.waiting += more.waiting
		a.promised += more.promised
		if more.yieldable != 0 && a.parent != nil {
			heap.Fix(&a.parent.members, a.index)
		}
	}
}

// group returns the account that is compared with those of workspaces.
func (a *account) group() *account {
	for a.parent.parent != nil {
		a = a.parent
	}
	return a
}

// oldest returns the share that gives way first, of an account of which some can.
func (a *account) oldest() *Share {
	for len(a.members) > 0 {
		a = a.members[0]
	}
	return a.shares.Front().Value.(*Share)
}

// accountOf returns the account of a holder, which is made if there is none.
func (p *Pool) accountOf(h Holder) *account {
	if h.Workspace != 0 {
		h.Address = netip.Addr{}
	}
	a := p.accounts[h]
	if a == nil {
		a = &account{holder: h, parent: &p.all}
		if h.Workspace == 0 {
			a.parent = &p.keyless
		}
		p.accounts[h] = a
		heap.Push(&a.parent.members, a)
	}
	return a
}

// dropIfUnused forgets an account that holds nothing and waits for nothing.
func (p *Pool) dropIfUnused(a *account) {
	if a.held == 0 && len(a.waiters) == 0 {
		delete(p.accounts, a.holder)
		heap.Remove(&a.parent.members, a.index)
	}
}

// hold adds a share to an account.
func (p *Pool) hold(s *Share, a *account) {
	s.account = a
	a.add(sums{held: s.size})
	switch {
	case s.ending:
		p.ending += s.size
	case s.yield != nil:
		s.place = a.shares.PushBack(s)
		a.add(sums{yieldable: s.size})
	}
}

// release takes a share from its account.
func (p *Pool) release(s *Share) {
	a := s.account
	a.add(sums{held: -s.size})
	switch {
	case s.ending:
		p.ending -= s.size
	case s.place != nil:
		s.leaveShares()
	}
	s.account = nil
	p.dropIfUnused(a)
}

// leaveShares takes the share from those of its account that can give way.
func (s *Share) leaveShares() {
	s.account.shares.Remove(s.place)
	s.place = nil
	s.account.add(sums{yieldable: -s.size})
}

// ask notes that a share gives way.
func (p *Pool) ask(s *Share) {
	s.leaveShares()
	s.ending = true
	p.ending += s.size
}

// unask takes back what ask did to the oldest share of an account.
func (p *Pool) unask(s *Share) {
	s.place = s.account.shares.PushFront(s)
	s.account.add(sums{yieldable: s.size})
	s.ending = false
	p.ending -= s.size
}

// A ranking is a heap of accounts, by how much of what they hold can give way: the first has
// most.
type ranking []*account

// first returns the account of which most can give way, or nil if nothing can.
func (r ranking) first() *account {
	if len(r) == 0 || r[0].yieldable == 0 {
		return nil
	}
	return r[0]
}

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (r ranking) Len() int           { return len(r) }
func (r ranking) Less(i, j int) bool { return r[i].yieldable > r[j].yieldable }

func (r ranking) Swap(i, j int) {
	r[i], r[j] = r[j], r[i]
	r[i].index, r[j].index = i, j
}

// Push implements heap.Interface.
func (r *ranking) Push(x any) {
	a := x.(*account)
	a.index = len(*r)
	*r = append(*r, a)
}

// Pop implements heap.Interface.
func (r *ranking) Pop() any {
	last := len(*r) - 1
	a := (*r)[last]
	(*r)[last] = nil
	*r = (*r)[:last]
	return a
}
