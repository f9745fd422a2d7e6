package ratelimit

import (
	"maps"
	"net/netip"
	"strings"
	"sync"
)

// addressTable holds the subjects of callers without a valid key, a bounded number of them. An address keeps its place
// until its minute and its day are over: no count that still matters is removed. Addresses that find no place share one
// subject.
type addressTable struct {
	limits   Limits
	size     int // how many places there are
	overflow *subject

	mu     sync.Mutex // taken before a subject's
	places map[netip.Prefix]*subject
	swept  int64 // the minute of the last sweep
}

// bucketOf returns what is counted as one: an IPv4 address, or the first half of an IPv6 address.
func bucketOf(a netip.Addr) netip.Prefix {
	if a = a.Unmap(); a.Is4() {
		return netip.PrefixFrom(a, 32)
	}
	return netip.PrefixFrom(a, 64).Masked()
}

func newAddressTable(limits Limits, size int) *addressTable {
	return &addressTable{
		limits: limits, size: size, places: map[netip.Prefix]*subject{},
		overflow: &subject{name: overflowName, limits: limits},
	}
}

// subject returns the subject of an address. With keep, a new one gets a place if there is one.
func (t *addressTable) subject(a netip.Addr, now int64, keep bool) *subject {
	t.mu.Lock()
	defer t.mu.Unlock()
	bucket := bucketOf(a)
	s := t.places[bucket]
	switch {
	case s != nil:
		return s
	case !a.IsValid() || len(t.places) >= t.size && !t.sweep(now):
		return t.overflow
	}
	s = &subject{name: addressName(bucket), limits: t.limits}
	if keep {
		t.places[bucket] = s
	}
	return s
}

// sweep frees the places of addresses whose windows are over and reports whether there were any. It looks at each place,
// so it runs at most once in each minute of the clock. It makes the windows current, since a day from a wrong future would
// never be over. A request that has found its subject just before is counted by itself. The caller holds mu.
func (t *addressTable) sweep(now int64) bool {
	if now/minute == t.swept {
		return false
	}
	t.swept = now / minute
	before := len(t.places)
	maps.DeleteFunc(t.places, func(_ netip.Prefix, s *subject) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.windows = s.windows.current(now)
		return !s.windows.used()
	})
	return len(t.places) < before
}

// overflowName is the subject of all addresses for which the table has no place.
const overflowName = "a:*"

func addressName(bucket netip.Prefix) string {
	return "a:" + strings.TrimSuffix(bucket.String(), "/32")
}
