package ratelimit

import (
	"hash/maphash"
	"net/netip"
	"slices"
	"sync"
)

// addressTable counts callers without a valid key: a bounded number of places, whatever arrives. An address keeps its
// place until its minute and its day are over; nothing that still counts is ever evicted. Addresses that find no place
// share one pair of windows.
//
// It is searched by open addressing under a seeded hash, so that nobody can choose addresses that collide, and is at
// most half full. Places are given back only all together, by sweep, which rebuilds the index: there are no tombstones.
type addressTable struct {
	limits Limits
	seed   maphash.Seed

	mu       sync.Mutex
	last     int64          // the clock at the last decision
	topDay   int64          // the latest day counted
	places   []addressPlace // those taken
	index    []int32        // 1 + a number in places, or 0
	size     int            // the most places
	changed  []int32        // the numbers of the places to save
	overflow addressPlace
	swept    int64 // the last sweep
	sweepAt  int64 // when one can find something again
}

type addressPlace struct {
	addr    address
	windows windows
	number  int32 // in places
	changed bool
}

// address is what is counted as one: an IPv4 address in its IPv4-mapped form, or the first half of an IPv6 address.
type address [16]byte

func addressOf(a netip.Addr) address {
	a = a.Unmap()
	b := a.As16()
	if !a.Is4() {
		clear(b[8:])
	}
	return b
}

// String returns the IPv4 address or the IPv6 prefix.
func (a address) String() string {
	ip := netip.AddrFrom16(a)
	if ip.Is4In6() {
		return ip.Unmap().String()
	}
	return netip.PrefixFrom(ip, 64).String()
}

func newAddressTable(limits Limits, size int) *addressTable {
	slots := 4
	for slots < 2*size {
		slots *= 2
	}
	return &addressTable{
		limits: limits,
		seed:   maphash.MakeSeed(),
		size:   size,
		index:  make([]int32, slots),
	}
}

// admit decides on a request at now. The caller holds mu.
func (t *addressTable) admit(a netip.Addr, now int64) Decision {
	p := t.place(a, now)
	var o Outcome
	p.windows, o = p.windows.admit(t.limits, now)
	t.change(p)
	return p.windows.decision(o, t.limits, now)
}

// peek returns what admit would. The caller holds mu.
func (t *addressTable) peek(a netip.Addr, now int64) Decision {
	w := t.fresh(now)
	if p := t.look(a, now); p != nil {
		w = p.windows.at(now)
	}
	_, o := w.admit(t.limits, now)
	return w.decision(o, t.limits, now)
}

// fresh returns windows that have counted nothing. After the clock was set back over midnight they count for the day
// that had begun, as those of addresses that kept their place do.
func (t *addressTable) fresh(now int64) windows {
	w := windows{day: dayOf(now)}
	if t.topDay == w.day+1 {
		w.day = t.topDay
	}
	return w.at(now)
}

// look returns where an address is counted, or nil if it has no place yet and there is one for it.
func (t *addressTable) look(a netip.Addr, now int64) *addressPlace {
	if !a.IsValid() {
		return &t.overflow
	}
	if n := t.index[t.slot(addressOf(a))]; n != 0 {
		return &t.places[n-1]
	}
	if len(t.places) == t.size && !t.sweep(now) {
		return &t.overflow
	}
	return nil
}

// place returns where an address is counted, after giving it a place if there is one.
func (t *addressTable) place(a netip.Addr, now int64) *addressPlace {
	if p := t.look(a, now); p != nil {
		return p
	}
	return t.add(addressOf(a), t.fresh(now))
}

func (t *addressTable) add(a address, w windows) *addressPlace {
	n := int32(len(t.places))
	i := t.slot(a)
	t.places = append(t.places, addressPlace{addr: a, windows: w, number: n})
	t.index[i] = n + 1
	return &t.places[n]
}

// slot returns where in the index an address is, or the empty place where it belongs.
func (t *addressTable) slot(a address) uint64 {
	mask := uint64(len(t.index) - 1)
	i := maphash.Bytes(t.seed, a[:]) & mask
	for n := t.index[i]; n != 0 && t.places[n-1].addr != a; n = t.index[i] {
		i = (i + 1) & mask
	}
	return i
}

func (t *addressTable) change(p *addressPlace) {
	if d := p.windows.day; d > t.topDay || d < t.topDay-1 {
		t.topDay = d
	}
	if p.changed {
		return
	}
	p.changed = true
	if p != &t.overflow {
		t.changed = append(t.changed, p.number)
	}
}

// sweep gives back the places whose windows are over and reports whether there were any. It looks at each place, so it
// runs only when one can be over, and at most once a second.
func (t *addressTable) sweep(now int64) bool {
	if now >= t.swept && now < t.sweepAt {
		return false
	}
	before, first := len(t.places), now+day
	t.places = slices.DeleteFunc(t.settled(now), func(p addressPlace) bool {
		switch {
		case p.windows.dayUsed > 0:
			first = min(first, p.windows.dayEnd())
		case p.windows.minuteUsed > 0:
			first = min(first, p.windows.minuteEnd())
		default:
			return true
		}
		return false
	})
	t.swept, t.sweepAt = now, max(first, now+second)
	if len(t.places) == before {
		return false
	}
	t.reindex()
	return true
}

// settled returns the places as they stand at now. Those with a day from a wrong future keep it as today's from now on,
// or they would never be given back.
func (t *addressTable) settled(now int64) []addressPlace {
	for i := range t.places {
		t.places[i].windows = t.places[i].windows.at(now)
	}
	return t.places
}

func (t *addressTable) reindex() {
	clear(t.index)
	t.changed = t.changed[:0]
	for n := range t.places {
		p := &t.places[n]
		p.number = int32(n)
		t.index[t.slot(p.addr)] = p.number + 1
		if p.changed {
			t.changed = append(t.changed, p.number)
		}
	}
}

// occupancy returns the places taken and in all, and what was admitted today without one.
func (t *addressTable) occupancy(now int64) (taken, size int, overflow int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.places), t.size, t.overflow.windows.at(now).dayUsed
}
