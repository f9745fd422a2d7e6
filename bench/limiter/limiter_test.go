// Package limiter compares the limiter with libraries: what one decision costs in the process's memory.
//
// Only ours decides on two windows and a ban in one step. Each of the others is asked for the minute and then for the
// day, which is what a program has to do with it, and knows no ban; the two answers are not one step.
package limiter

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/petstore/internal/ratelimit"
	"github.com/sethvargo/go-limiter/memorystore"
	"github.com/throttled/throttled/v2"
	throttledstore "github.com/throttled/throttled/v2/store/memstore"
	ulule "github.com/ulule/limiter/v3"
	ululestore "github.com/ulule/limiter/v3/drivers/store/memory"
	"golang.org/x/time/rate"
)

const plenty = 1_000_000_000 // of requests, so that each decision is an admission

// A peer makes a limiter for some callers and returns the decision on one request of the i-th.
type peer struct {
	name string
	make func(b *testing.B, keys []string) func(i int) bool
}

var peers = []peer{
	{"ours", ours},
	{"throttled", throttledPair},
	{"go-limiter", goLimiterPair},
	{"ulule", ululePair},
	{"x-time-rate", ratePair},
}

func BenchmarkDecision(b *testing.B) {
	for _, callers := range []int{1, 100_000} {
		keys := make([]string, callers)
		for i := range keys {
			keys[i] = fmt.Sprint("key", i)
		}
		for _, p := range peers {
			b.Run(fmt.Sprintf("callers=%d/%s", callers, p.name), func(b *testing.B) {
				decide(b, p.make(b, keys), callers)
			})
		}
	}
}

func decide(b *testing.B, admit func(int) bool, callers int) {
	var cores atomic.Int64
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		i := int(cores.Add(1)) * 7919 % callers
		for pb.Next() {
			if !admit(i) {
				b.Error("refused")
			}
			if i++; i == callers {
				i = 0
			}
		}
	})
}

func ours(_ *testing.B, keys []string) func(int) bool {
	m := ratelimit.NewMemory(ratelimit.DefaultConfig(), time.Now)
	handles := make([]*ratelimit.Caller, len(keys))
	for i, k := range keys {
		handles[i] = m.Caller(int64(i), k, ratelimit.Limits{PerMinute: plenty, PerDay: plenty})
	}
	ctx := context.Background()
	return func(i int) bool { return m.Admit(ctx, handles[i]).Admitted() }
}

func throttledPair(b *testing.B, keys []string) func(int) bool {
	one := func(r throttled.Rate) *throttled.GCRARateLimiterCtx {
		store, err := throttledstore.NewCtx(2 * len(keys))
		if err != nil {
			b.Fatal(err)
		}
		l, err := throttled.NewGCRARateLimiterCtx(store, throttled.RateQuota{MaxRate: r, MaxBurst: plenty})
		if err != nil {
			b.Fatal(err)
		}
		l.SetMaxCASAttemptsLimit(1_000_000) // at the default of 10 it fails with an error on one hot key and two cores
		return l
	}
	minute, day := one(throttled.PerMin(plenty)), one(throttled.PerDay(plenty))
	ctx := context.Background()
	return func(i int) bool {
		no, _, err := minute.RateLimitCtx(ctx, keys[i], 1)
		no2, _, err2 := day.RateLimitCtx(ctx, keys[i], 1)
		return !no && !no2 && err == nil && err2 == nil
	}
}

func goLimiterPair(b *testing.B, keys []string) func(int) bool {
	one := func(interval time.Duration) interface {
		Take(context.Context, string) (uint64, uint64, uint64, bool, error)
	} {
		s, err := memorystore.New(&memorystore.Config{Tokens: plenty, Interval: interval})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = s.Close(context.Background()) })
		return s
	}
	minute, day := one(time.Minute), one(24*time.Hour)
	ctx := context.Background()
	return func(i int) bool {
		_, _, _, ok, err := minute.Take(ctx, keys[i])
		_, _, _, ok2, err2 := day.Take(ctx, keys[i])
		return ok && ok2 && err == nil && err2 == nil
	}
}

func ululePair(_ *testing.B, keys []string) func(int) bool {
	one := func(period time.Duration) *ulule.Limiter {
		return ulule.New(ululestore.NewStore(), ulule.Rate{Period: period, Limit: plenty})
	}
	minute, day := one(time.Minute), one(24*time.Hour)
	ctx := context.Background()
	return func(i int) bool {
		a, err := minute.Get(ctx, keys[i])
		b, err2 := day.Get(ctx, keys[i])
		return err == nil && err2 == nil && !a.Reached && !b.Reached
	}
}

// ratePair has no table of callers of its own, so it gets the usual one: a map under a mutex.
func ratePair(_ *testing.B, keys []string) func(int) bool {
	type pair struct{ minute, day *rate.Limiter }
	table := make(map[string]pair, len(keys))
	for _, k := range keys {
		table[k] = pair{rate.NewLimiter(plenty/60, plenty), rate.NewLimiter(plenty/86_400, plenty)}
	}
	var mu sync.Mutex
	return func(i int) bool {
		mu.Lock()
		p := table[keys[i]]
		mu.Unlock()
		return p.minute.Allow() && p.day.Allow()
	}
}
