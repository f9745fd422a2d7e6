package ratelimit

import (
	"encoding/binary"
	"math"
	"net/netip"
)

var endless = Limits{PerMinute: math.MaxInt64, PerDay: math.MaxInt64}

// numbered returns an address of the i-th IPv6 /64.
func numbered(i int) netip.Addr {
	var a [16]byte
	binary.BigEndian.PutUint64(a[:], 0x20010db8<<32|uint64(i))
	a[15] = byte(i)
	return netip.AddrFrom16(a)
}
