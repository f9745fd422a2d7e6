package fairshare

import (
	"container/heap"
	"net/netip"
)

// An account is what a workspace, an address, or all callers without a key
// together hold and wait for.
type account struct {
	holder    Holder
	parent    *account // of an address; nil for a workspace and for all without a key
	held      int64    // units
	yieldable int64    // of them, of shares that can give way and were not asked to
	waiting   int64    // units that its waiters, or those of its members, ask for
	promised  int64    // of them, units for which others give way
	waiters   []*waiter
	admitted  uint64 // when one of its waiters was, in their order; 0 if none yet

	oldest, newest *Share // of those that can give way; of all without a key nil

	members map[netip.Addr]*account // of all without a key
	ranked  ranking                 // members
	index   int                     // in the ranking it stands in
}

// group returns the account that is compared with those of workspaces.
func (a *account) group() *account {
	if a.parent != nil {
		return a.parent
	}
	return a
}

// oldestShare returns the share that gives way first.
func (a *account) oldestShare() *Share {
	if a.members != nil {
		return a.ranked.first().oldest
	}
	return a.oldest
}

// accountOf returns the account of a holder, which is made if there is none.
func (p *Pool) accountOf(h Holder) *account {
	if h.Workspace != 0 {
		a := p.keyed[h.Workspace]
		if a == nil {
			a = &account{holder: Holder{Workspace: h.Workspace}}
			p.keyed[h.Workspace] = a
			p.ranked.add(a)
		}
		return a
	}
	a := p.keyless.members[h.Address]
	if a == nil {
		a = &account{holder: h, parent: &p.keyless}
		p.keyless.members[h.Address] = a
		p.keyless.ranked.add(a)
	}
	return a
}

// dropIfUnused forgets an account that holds nothing and waits for nothing.
func (p *Pool) dropIfUnused(a *account) {
	if a.held > 0 || len(a.waiters) > 0 {
		return
	}
	if a.parent == nil {
		delete(p.keyed, a.holder.Workspace)
		p.ranked.remove(a)
	} else {
		delete(p.keyless.members, a.holder.Address)
		p.keyless.ranked.remove(a)
	}
}

// hold adds a share to an account.
func (p *Pool) hold(s *Share, a *account) {
	s.account = a
	p.used += s.size
	if s.ending {
		p.ending += s.size
	}
	p.count(s, 1)
	if s.yield == nil || s.ending {
		return
	}
	if s.older = a.newest; s.older != nil {
		s.older.newer = s
	} else {
		a.oldest = s
	}
	a.newest = s
}

// release takes a share from its account.
func (p *Pool) release(s *Share) {
	a := s.account
	p.used -= s.size
	if s.ending {
		p.ending -= s.size
	}
	p.count(s, -1)
	if s.yield != nil && !s.ending {
		a.unlink(s)
	}
	s.account = nil
	p.dropIfUnused(a)
}

// ask notes that a share gives way.
func (p *Pool) ask(s *Share) {
	p.count(s, -1)
	s.account.unlink(s)
	s.ending = true
	p.count(s, 1)
	p.ending += s.size
}

// unask takes back what ask did to the oldest share of an account.
func (p *Pool) unask(s *Share) {
	p.count(s, -1)
	s.ending = false
	p.count(s, 1)
	p.ending -= s.size
	a := s.account
	if s.newer = a.oldest; s.newer != nil {
		s.newer.older = s
	} else {
		a.newest = s
	}
	a.oldest = s
}

// count adds a share to the sums of its account and of all above it, or takes it
// away.
func (p *Pool) count(s *Share, sign int64) {
	n := sign * s.size
	for a := s.account; a != nil; a = a.parent {
		a.held += n
		if s.yield == nil || s.ending {
			continue
		}
		a.yieldable += n
		if a.parent != nil {
			a.parent.ranked.fix(a)
		} else {
			p.ranked.fix(a)
		}
	}
}

func (a *account) unlink(s *Share) {
	if s.older != nil {
		s.older.newer = s.newer
	} else {
		a.oldest = s.newer
	}
	if s.newer != nil {
		s.newer.older = s.older
	} else {
		a.newest = s.older
	}
	s.older, s.newer = nil, nil
}

// A ranking has accounts by how much of what they hold can give way.
type ranking struct{ list byYieldable }

// first returns the account of which most can give way, or nil if nothing can.
func (r *ranking) first() *account {
	if len(r.list) == 0 || r.list[0].yieldable == 0 {
		return nil
	}
	return r.list[0]
}

func (r *ranking) add(a *account)    { heap.Push(&r.list, a) }
func (r *ranking) remove(a *account) { heap.Remove(&r.list, a.index) }
func (r *ranking) fix(a *account)    { heap.Fix(&r.list, a.index) }

// byYieldable implements heap.Interface; the first has most.
type byYieldable []*account

func (l byYieldable) Len() int           { return len(l) }
func (l byYieldable) Less(i, j int) bool { return l[i].yieldable > l[j].yieldable }

func (l byYieldable) Swap(i, j int) {
	l[i], l[j] = l[j], l[i]
	l[i].index, l[j].index = i, j
}

// Push implements heap.Interface.
func (l *byYieldable) Push(x any) {
	a := x.(*account)
	a.index = len(*l)
	*l = append(*l, a)
}

// Pop implements heap.Interface.
func (l *byYieldable) Pop() any {
	last := len(*l) - 1
	a := (*l)[last]
	(*l)[last] = nil
	*l = (*l)[:last]
	return a
}
