package ratelimit

import (
	"fmt"
	"maps"
	"net/netip"
	"strings"
	"sync"
)

// addressTable holds the subjects of callers without a valid key: a bounded number, whatever arrives. An address keeps
// its place until its minute and its day are over; nothing that still counts is ever evicted. Addresses that find no
// place share one subject.
type addressTable struct {
	limits   Limits
	size     int // the most places
	overflow *subject

	mu      sync.Mutex // taken before a subject's
	places  map[address]*subject
	swept   int64 // the last sweep
	sweepAt int64 // when one can find something again
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
	return &addressTable{
		limits: limits, size: size, places: map[address]*subject{},
		overflow: &subject{name: overflowName, limits: limits},
	}
}

// lock returns the subject that an address is counted under, locked. A new address gets a place if there is one.
func (t *addressTable) lock(a netip.Addr, now int64) *subject {
	for {
		s := t.place(a, now)
		s.mu.Lock()
		if !s.removed {
			return s
		}
		s.mu.Unlock()
	}
}

func (t *addressTable) place(a netip.Addr, now int64) *subject {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.find(a, now)
	if s == nil {
		s = t.fresh(a)
		t.places[addressOf(a)] = s
	}
	return s
}

// look returns the subject of an address, which gets no place for that.
func (t *addressTable) look(a netip.Addr, now int64) *subject {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.find(a, now); s != nil {
		return s
	}
	return t.fresh(a)
}

// find returns the subject of an address, or nil if it has no place yet and there is one for it. The caller holds mu.
func (t *addressTable) find(a netip.Addr, now int64) *subject {
	if !a.IsValid() {
		return t.overflow
	}
	s := t.places[addressOf(a)]
	if s == nil && len(t.places) >= t.size && !t.sweep(now) {
		return t.overflow
	}
	return s
}

func (t *addressTable) fresh(a netip.Addr) *subject {
	return &subject{name: addressName(addressOf(a)), limits: t.limits}
}

// sweep gives back the places whose windows are over and reports whether there were any. It looks at each place, so it
// runs only when one can be over, and at most once a second. The caller holds mu.
func (t *addressTable) sweep(now int64) bool {
	if now >= t.swept && now < t.sweepAt {
		return false
	}
	before, first := len(t.places), now+day
	maps.DeleteFunc(t.places, func(_ address, s *subject) bool {
		until := s.countsUntil(now)
		if until > now {
			first = min(first, until)
		}
		return until <= now
	})
	t.swept, t.sweepAt = now, max(first, now+second)
	return len(t.places) < before
}

// countsUntil returns when the windows of an address are over, or marks it as removed if they are. One with a day from a
// wrong future keeps it as today's from now on, or it would never be over.
func (s *subject) countsUntil(now int64) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.windows = s.windows.at(now)
	w := s.known(now)
	switch {
	case s.remote != nil && s.remote.asking > 0:
		return now + second
	case w.dayUsed > 0:
		return w.dayEnd()
	case w.minuteUsed > 0:
		return w.minuteEnd()
	}
	s.removed = true
	return now
}

// overflowName is the subject of all addresses for which the table has no place.
const overflowName = "a:*"

func addressName(a address) string { return "a:" + a.String() }

// parseAddress returns an address of the saved subject "a:192.0.2.7" or "a:2001:db8:0:1::/64".
func parseAddress(subject string) (netip.Addr, error) {
	if s, ok := strings.CutPrefix(subject, "a:"); ok {
		if a, err := netip.ParseAddr(strings.TrimSuffix(s, "/64")); err == nil {
			return a, nil
		}
	}
	return netip.Addr{}, fmt.Errorf("saved window %q names neither a workspace nor an address", subject)
}
