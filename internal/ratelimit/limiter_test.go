package ratelimit

import (
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// implementations are the limiters that every test of behaviour runs on.
var implementations = []struct {
	name string
	make func(t testing.TB, cfg Config, now func() time.Time) *Limiter
}{
	{"memory", func(_ testing.TB, cfg Config, now func() time.Time) *Limiter { return New(cfg, now) }},
	{"redis", func(t testing.TB, cfg Config, now func() time.Time) *Limiter { return newVirtual(t, cfg, now).Limiter }},
}

// onEach runs a test of windows on each limiter, with a clock of its own that stands at noon.
func onEach(t *testing.T, cfg Config, test func(t *testing.T, l *Limiter, clock *testClock)) {
	t.Helper()
	for _, impl := range implementations {
		t.Run(impl.name, func(t *testing.T) {
			t.Parallel()
			clock := newClock(noon)
			test(t, impl.make(t, cfg, clock.Now), clock)
		})
	}
}

// onMemory is onEach for tests of what does not depend on Redis, such as bans and the table of addresses.
func onMemory(t *testing.T, cfg Config, test func(t *testing.T, l *Limiter, clock *testClock)) {
	t.Helper()
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		clock := newClock(noon)
		test(t, New(cfg, clock.Now), clock)
	})
}

var noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

// testClock is a clock that only moves when told to.
type testClock struct{ ns atomic.Int64 }

func newClock(at time.Time) *testClock {
	c := &testClock{}
	c.set(at)
	return c
}

func (c *testClock) Now() time.Time          { return time.Unix(0, c.ns.Load()).UTC() }
func (c *testClock) set(at time.Time)        { c.ns.Store(at.UnixNano()) }
func (c *testClock) advance(d time.Duration) { c.ns.Add(int64(d)) }

var free = Limits{PerMinute: 60, PerDay: 1000}

func TestAdmitsExactlyTheMinute(t *testing.T) {
	t.Parallel()
	onEach(t, DefaultConfig(), func(t *testing.T, l *Limiter, clock *testClock) {
		c := l.Caller(nil, 1, "k", free, nil)
		for i := range int64(60) {
			d := l.Admit(c)
			if !d.Admitted() || d.Headline().Remaining() != 59-i {
				t.Fatalf("request %d = %v with %d remaining, want admitted with %d", i, d.Outcome, d.Headline().Remaining(), 59-i)
			}
			clock.advance(100 * time.Millisecond)
		}
		want := Decision{
			Outcome:    RefusedMinute,
			Minute:     Window{Limit: 60, Used: 60, Reset: noon.Unix() + 60},
			Day:        Window{Limit: 1000, Used: 60, Reset: noon.Unix() + 43_200},
			RetryAfter: 54,
		}
		if got := l.Admit(c); got != want {
			t.Errorf("request 61 = %+v, want %+v", got, want)
		}
		clock.advance(54*time.Second - 1)
		if got := l.Admit(c); got.Outcome != RefusedMinute || got.RetryAfter != 1 {
			t.Errorf("1 ns before the reset = %v, retry after %d, want minute, 1", got.Outcome, got.RetryAfter)
		}
		clock.advance(1)
		if got := l.Admit(c); !got.Admitted() || got.Minute.Used != 1 || got.Day.Used != 61 {
			t.Errorf("at the reset = %+v, want admitted as the minute's first and the day's 61st", got)
		}
	})
}

// TestTheLaterWindowRefuses: to wait until it resets is enough.
func TestTheLaterWindowRefuses(t *testing.T) {
	t.Parallel()
	onEach(t, DefaultConfig(), func(t *testing.T, l *Limiter, clock *testClock) {
		for at, want := range map[time.Duration]Decision{
			0: {Outcome: RefusedDay, RetryAfter: 12 * 3600}, 12*time.Hour - 30*time.Second: {Outcome: RefusedMinute, RetryAfter: 60},
		} {
			clock.set(noon.Add(at))
			c := l.Caller(nil, int64(at), fmt.Sprint(at), Limits{PerMinute: 1, PerDay: 1}, nil)
			l.Admit(c)
			if got := l.Admit(c); got.Outcome != want.Outcome || got.RetryAfter != want.RetryAfter {
				t.Errorf("with both windows full, %v after noon = %+v, want %+v", at, got, want)
			}
		}
	})
}

func TestKeysOfAWorkspaceShareItsWindows(t *testing.T) {
	t.Parallel()
	onEach(t, DefaultConfig(), func(t *testing.T, l *Limiter, _ *testClock) {
		a, b, other := l.Caller(nil, 1, "a", free, nil), l.Caller(nil, 1, "b", free, nil), l.Caller(nil, 2, "c", free, nil)
		if l.Caller(a, 1, "a", free, nil) != a || l.Caller(a, 2, "a", free, nil) == a {
			t.Error("the key has another handle when it was read again, or the same one in another workspace")
		}
		for range 30 {
			l.Admit(a)
			l.Admit(b)
		}
		if d := l.Admit(a); d.Outcome != RefusedMinute {
			t.Errorf("the 61st of both keys = %v, want minute", d.Outcome)
		}
		if d := l.Admit(other); !d.Admitted() || d.Minute.Used != 1 {
			t.Errorf("another workspace = %+v, want admitted as its first", d)
		}
		if d := l.PeekWorkspace(1, narrow); !d.Admitted() || d.Minute.Used != 60 || d.Minute.Limit != 1 {
			t.Errorf("PeekWorkspace = %+v, want the 60 of both keys, with the limits that were given", d)
		}
		if d := l.PeekWorkspace(3, free); d.Minute.Used != 0 {
			t.Errorf("PeekWorkspace of one without keys = %+v, want nothing used", d)
		}
		if d := l.Admit(l.Caller(nil, 1, "a2", free, nil)); d.Outcome != RefusedMinute {
			t.Errorf("a new key = %v, want minute", d.Outcome)
		}
	})
}

func TestPeekHasNoEffect(t *testing.T) {
	t.Parallel()
	onEach(t, DefaultConfig(), func(t *testing.T, l *Limiter, _ *testClock) {
		c := l.Caller(nil, 1, "k", Limits{PerMinute: 1, PerDay: 5}, nil)
		for range 3 {
			if d := l.Peek(c); !d.Admitted() || d.Minute.Remaining() != 1 || d.Minute.Reset != noon.Unix()+60 {
				t.Errorf("Peek before a request = %+v, want admitted, 1 remaining, a minute from now", d)
			}
		}
		l.Admit(c)
		if d := l.Peek(c); !d.Admitted() || d.Headline().Remaining() != 0 || d.RetryAfter != 0 {
			t.Errorf("Peek at a full window = %+v, want admitted, 0 remaining", d)
		}
		until := noon.Add(time.Hour)
		setBan(l, c, &Ban{KeyID: "k", From: noon, Until: until, By: ByOperator})
		if d := l.Peek(c); d.Outcome != Banned || d.BannedUntil != until.Unix() || d.RetryAfter != 3600 {
			t.Errorf("Peek while banned = %+v, want banned for 3600 s", d)
		}
		a := netip.MustParseAddr("192.0.2.1")
		for range 100 {
			if d := l.PeekAddress(a); !d.Admitted() || d.Minute.Remaining() != 60 {
				t.Fatalf("PeekAddress = %+v, want admitted, 60 remaining", d)
			}
		}
	})
}

func TestRemainingFallsByOneUnderConcurrency(t *testing.T) {
	t.Parallel()
	onMemory(t, DefaultConfig(), func(t *testing.T, l *Limiter, _ *testClock) {
		limits := Limits{PerMinute: 1000, PerDay: 100_000}
		handles := []*Caller{l.Caller(nil, 1, "a", limits, nil), l.Caller(nil, 1, "b", limits, nil), l.Caller(nil, 1, "c", limits, nil)}
		got := inParallel(16, 100, func(i int) (int64, bool) {
			d := l.Admit(handles[i%len(handles)])
			return d.Minute.Remaining(), d.Admitted()
		})
		checkCountdown(t, got, 1000)
		a := netip.MustParseAddr("2001:db8::1")
		got = inParallel(16, 20, func(int) (int64, bool) {
			d := l.AdmitAddress(a)
			return d.Minute.Remaining(), d.Admitted()
		})
		checkCountdown(t, got, 60)
	})
}

// inParallel calls f in n goroutines, each times times, and returns what it answered where it also answered true.
func inParallel(n, times int, f func(i int) (int64, bool)) (all []int64) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	for g := range n {
		wg.Go(func() {
			for i := range times {
				if v, ok := f(g + i); ok {
					mu.Lock()
					all = append(all, v)
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	return all
}

// checkCountdown checks that the values are limit-1 down to 0, each once.
func checkCountdown(t *testing.T, got []int64, limit int) {
	t.Helper()
	slices.Sort(got)
	if len(got) != limit {
		t.Fatalf("%d admitted, want %d", len(got), limit)
	}
	for i, v := range got {
		if v != int64(i) {
			t.Fatalf("remaining values = %d at place %d, want each of 0 to %d once", v, i, limit-1)
		}
	}
}

func TestHeadlineIsTheFullerWindow(t *testing.T) {
	t.Parallel()
	minute, day := Window{Limit: 60, Used: 10, Reset: 100}, Window{Limit: 1000, Used: 20, Reset: 200}
	full := Window{Limit: 1000, Used: 999, Reset: 200}
	for _, test := range []struct {
		name string
		d    Decision
		want Window
	}{
		{"minute fuller", Decision{Minute: minute, Day: day}, minute},
		{"day fuller", Decision{Minute: minute, Day: full}, full},
		{"tie, day later", Decision{Minute: Window{Limit: 5, Reset: 100}, Day: Window{Limit: 5, Reset: 101}}, Window{Limit: 5, Reset: 101}},
		{"tie, minute later", Decision{Minute: Window{Limit: 5, Reset: 102}, Day: Window{Limit: 5, Reset: 101}}, Window{Limit: 5, Reset: 102}},
		{"refused by the minute", Decision{Outcome: RefusedMinute, Minute: minute, Day: full}, minute},
		{"refused by the day", Decision{Outcome: RefusedDay, Minute: minute, Day: day}, day},
		{"banned", Decision{Outcome: Banned, Minute: minute, Day: day, BannedUntil: 500}, Window{Limit: 60, Used: 60, Reset: 500}},
		{"banned on a full day", Decision{Outcome: Banned, Minute: minute, Day: Window{Limit: 9, Used: 9, Reset: 700}, BannedUntil: 500}, Window{Limit: 9, Used: 9, Reset: 700}},
	} {
		if got := test.d.Headline(); got != test.want {
			t.Errorf("%s: Headline() = %+v, want %+v", test.name, got, test.want)
		}
	}
}

// manyRequests admits n requests, gap apart, and returns how many ended in each way.
func manyRequests(l *Limiter, c *Caller, clock *testClock, n int, gap time.Duration) map[Outcome]int {
	got := map[Outcome]int{}
	for range n {
		got[l.Admit(c).Outcome]++
		clock.advance(gap)
	}
	return got
}

func ExampleLimiter() {
	clock := newClock(noon)
	l := New(DefaultConfig(), clock.Now)
	c := l.Caller(nil, 12, "key_1", Limits{PerMinute: 2, PerDay: 1000}, nil)
	for range 3 {
		d := l.Admit(c)
		fmt.Println(d.Outcome, d.Headline().Remaining(), d.RetryAfter)
	}
	// Output:
	// admitted 1 0
	// admitted 0 0
	// minute 0 60
}
