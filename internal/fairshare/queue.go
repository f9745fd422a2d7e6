package fairshare

import "slices"

// A waiter waits for a share.
type waiter struct {
	share    *Share
	account  *account
	promised bool          // others give way to it
	number   uint64        // in the order in which they came
	ready    chan struct{} // is closed when it has the share
}

// A queue has those who wait, by account.
type queue struct {
	accounts []*account // with waiters
	length   int
	came     uint64
}

// add has a waiter wait as the last of its account.
func (q *queue) add(w *waiter) {
	q.came++
	w.number = q.came
	if len(w.account.waiters) == 0 {
		q.accounts = append(q.accounts, w.account)
	}
	w.account.waiters = append(w.account.waiters, w)
	w.account.add(sums{waiting: w.share.size})
	q.length++
}

func (q *queue) remove(w *waiter) {
	a := w.account
	i := slices.Index(a.waiters, w)
	a.waiters = slices.Delete(a.waiters, i, i+1)
	less := sums{waiting: -w.share.size}
	if w.promised {
		less.promised = -w.share.size
	}
	a.add(less)
	if len(a.waiters) == 0 {
		i = slices.Index(q.accounts, a)
		q.accounts = slices.Delete(q.accounts, i, i+1)
	}
	q.length--
}

// next returns who is to be admitted next, or nil: the first to have come of the
// account that holds least. Its workspace counts first, then its address. Of
// those that hold as much it is the one that was admitted from the queue longest
// ago.
func (q *queue) next() *waiter {
	var least *account
	for _, a := range q.accounts {
		if least == nil || a.before(least) {
			least = a
		}
	}
	if least == nil {
		return nil
	}
	return least.waiters[0]
}

func (a *account) before(b *account) bool {
	switch g, h := a.group(), b.group(); {
	case g.held != h.held:
		return g.held < h.held
	case g != h && g.admitted != h.admitted:
		return g.admitted < h.admitted
	case g == h && a.held != b.held:
		return a.held < b.held
	case g == h && a.admitted != b.admitted:
		return a.admitted < b.admitted
	}
	return a.waiters[0].number < b.waiters[0].number
}
