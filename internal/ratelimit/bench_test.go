package ratelimit

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"
)

var endless = Limits{PerMinute: math.MaxInt64, PerDay: math.MaxInt64}

func BenchmarkAdmit(b *testing.B) {
	for _, callers := range []int{1, 100_000} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) { benchmarkAdmit(b, callers) })
	}
}

// benchmarkAdmit admits for each of the callers in turn, on as many cores as -cpu says, from different beginnings.
func benchmarkAdmit(b *testing.B, callers int) {
	m := NewMemory(DefaultConfig(), time.Now)
	handles := make([]*Caller, callers)
	for i := range handles {
		handles[i] = m.Caller(int64(i), fmt.Sprint("key", i), endless)
	}
	var cores atomic.Int64
	ctx := context.Background()
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		i := int(cores.Add(1)) * 7919 % callers
		for pb.Next() {
			if d := m.Admit(ctx, handles[i]); !d.Admitted() {
				b.Error(d)
			}
			if i++; i == callers {
				i = 0
			}
		}
	})
}

func BenchmarkAdmitAddress(b *testing.B) {
	for _, addresses := range []int{1, 1 << 16, 1 << 20} {
		b.Run(fmt.Sprintf("addresses=%d", addresses), func(b *testing.B) {
			m := NewMemory(DefaultConfig(), time.Now)
			ctx := context.Background()
			i := 0
			b.ReportAllocs()
			for b.Loop() {
				m.AdmitAddress(ctx, numbered(i%addresses))
				i++
			}
		})
	}
}

// numbered returns an address of the i-th IPv6 /64.
func numbered(i int) netip.Addr {
	var a [16]byte
	binary.BigEndian.PutUint64(a[:], 0x20010db8<<32|uint64(i))
	a[15] = byte(i)
	return netip.AddrFrom16(a)
}
