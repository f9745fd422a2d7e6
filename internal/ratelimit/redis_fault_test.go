package ratelimit

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"example.com/petstore/internal/processtest"
	"example.com/petstore/internal/ratelimit/redistest"
)

// plenty is more than a test takes, so that no window ends in it.
var plenty = Limits{PerMinute: 1000, PerDay: 100_000}

// startNodes returns limiters that Redis answers, by the server's clock. They wait longer for a call than a service does: on
// a busy machine 25 ms are not always kept.
func startNodes(t *testing.T, url string, n int, deny bool, wait time.Duration) []*Redis {
	t.Helper()
	var nodes []*Redis
	for range n {
		r, err := NewRedis(RedisOptions{URL: url, Config: DefaultConfig(), Now: time.Now, Deny: deny})
		must(t, err)
		r.timeout = wait
		keepChecking(t, r)
		nodes = append(nodes, r)
	}
	processtest.Eventually(t, "Redis answers", isAway(nodes, false))
	return nodes
}

func isAway(nodes []*Redis, want bool) func() bool {
	return func() bool {
		for _, r := range nodes {
			if r.RedisStats().Away != want {
				return false
			}
		}
		return true
	}
}

func handles(nodes []*Redis, limits Limits) (all []*Caller) {
	for i, r := range nodes {
		all = append(all, r.Caller(nil, 1, fmt.Sprint("key", i), limits, nil))
	}
	return all
}

// awaitMinute returns when the day does not end in the test. It waits for real time, since Redis counts by the machine's
// clock: for ten seconds at most, once a day.
func awaitMinute(t *testing.T) {
	t.Helper()
	processtest.Eventually(t, "a new day", func() bool {
		return time.Until(time.Now().UTC().Truncate(24*time.Hour).Add(24*time.Hour)) > 10*time.Second
	})
}

func TestFourNodesAdmitExactlyTheLimit(t *testing.T) {
	t.Parallel()
	awaitMinute(t)
	nodes := startNodes(t, redistest.Start(t).URL(), 4, false, 10*time.Second)
	keys := handles(nodes, plenty)
	got := inParallel(64, 25, func(i int) (int64, bool) {
		d := nodes[i%4].Admit(keys[i%4])
		return d.Minute.Remaining(), d.Admitted()
	})
	checkCountdown(t, got, 1000)
	a := netip.MustParseAddr("2001:db8::1")
	got = inParallel(16, 10, func(i int) (int64, bool) {
		d := nodes[i%4].AdmitAddress(a)
		return d.Minute.Remaining(), d.Admitted()
	})
	checkCountdown(t, got, 60)
	if s := nodes[0].RedisStats(); s.Failed != 0 || s.Local != 0 || s.Cached == 0 {
		t.Errorf("RedisStats = %+v, want no failure, and refusals known beforehand", s)
	}
}

// TestAStalledServerIsLeftAlone has Redis stop without closing its connections. After three calls without an answer a node
// asks no more, and when Redis goes on, no request counts that was not made.
func TestAStalledServerIsLeftAlone(t *testing.T) {
	t.Parallel()
	awaitMinute(t)
	server := redistest.Start(t)
	const wait = 250 * time.Millisecond // so that only the stall, not a busy machine, lets calls fail
	nodes := startNodes(t, server.URL(), 2, false, wait)
	keys := handles(nodes, plenty)
	admitted := int64(0)
	admit := func(times int) {
		for range times {
			for i, r := range nodes {
				if r.Admit(keys[i]).Admitted() {
					admitted++
				}
			}
		}
	}
	admit(10)
	server.Pause(t)
	begun := time.Now()
	admit(20)
	if took := time.Since(begun); took > 2*3*wait+time.Second {
		t.Errorf("40 decisions without an answer took %v, want 3 time-outs of %v at each node, and then no more", took, wait)
	}
	if !isAway(nodes, true)() {
		t.Error("the breakers are closed, want open")
	}
	server.Resume(t)
	processtest.Eventually(t, "Redis is back", isAway(nodes, false))
	for i, r := range nodes {
		if d := r.Peek(keys[i]); d.Day.Used < 10 || d.Day.Used > admitted {
			t.Errorf("node %d: %d are counted, want no more than the %d that were admitted", i, d.Day.Used, admitted)
		}
	}
}

// outages are what is admitted without Redis, by what nodes do then.
var outages = []struct {
	deny           bool
	outage, bounds int // admitted when Redis went away once, and at most when it did so again and again
}{
	{false, 12 + 4*(60-12), 12 + 4*(60-12)}, // k + n(L-k)
	{true, 12, 60},
}

// TestWithoutRedis: four nodes know that 12 of 60 requests are used when Redis goes away. Each goes on from there, also when
// Redis has been back and has gone away again, or refuses. The numbers are those of docs/limits.md.
func TestWithoutRedis(t *testing.T) {
	t.Parallel()
	for _, test := range outages {
		for _, short := range []bool{false, true} {
			t.Run(fmt.Sprint("deny ", test.deny, " short ", short), func(t *testing.T) {
				t.Parallel()
				awaitMinute(t)
				server := redistest.Start(t)
				nodes := startNodes(t, server.URL(), 4, test.deny, 10*time.Second)
				keys := handles(nodes, Limits{PerMinute: 1 << 40, PerDay: 60})
				admitted := 0
				admit := func(times int) {
					t.Helper()
					for range times {
						for i, r := range nodes {
							d := r.Admit(keys[i])
							if d.Admitted() {
								admitted++
							} else if d.RetryAfter < 1 {
								t.Fatalf("a refusal = %+v, want one with a Retry-After", d)
							}
						}
					}
				}
				admit(3)
				for i, r := range nodes {
					r.Peek(keys[i])
				}
				if server.Kill(); !short {
					if admit(70); admitted != test.outage {
						t.Errorf("%d admitted without Redis, want %d", admitted, test.outage)
					}
					if s := nodes[0].RedisStats(); (s.Unavailable == 70) != test.deny || (s.Local >= 48) == test.deny {
						t.Errorf("RedisStats = %+v, want decisions of the node, or none", s)
					}
				}
				for range 2 {
					admit(8)
					must(t, server.Run())
					processtest.Eventually(t, "Redis is back", isAway(nodes, false))
					admit(4)
					server.Kill()
				}
				if admit(70); admitted > test.bounds {
					t.Errorf("%d admitted, want %d at most", admitted, test.bounds)
				}
			})
		}
	}
}

// TestWhatNodesAdmitAloneIsNotAddedUp: when Redis is back, the greatest count that it or a node knows goes on.
func TestWhatNodesAdmitAloneIsNotAddedUp(t *testing.T) {
	t.Parallel()
	awaitMinute(t)
	server := redistest.Start(t)
	nodes := startNodes(t, server.URL(), 2, false, 10*time.Second)
	keys := handles(nodes, plenty)
	admit := func(node, times int) (d Decision) {
		for range times {
			d = nodes[node].Admit(keys[node])
		}
		return d
	}
	admit(0, 1)
	admit(1, 1)
	server.Kill()
	if first, second := admit(0, 5), admit(1, 3); first.Day.Used != 6 || second.Day.Used != 5 {
		t.Errorf("alone the nodes count %d and %d, want 6, having known of 1, and 5, having known of 2", first.Day.Used, second.Day.Used)
	}
	must(t, server.Run())
	processtest.Eventually(t, "Redis is back", isAway(nodes, false))
	if second, first := admit(1, 1), admit(0, 1); second.Day.Used != 6 || first.Day.Used != 7 {
		t.Errorf("with Redis the nodes count %d and then %d, want 6, and 7 on top of what the other knew", second.Day.Used, first.Day.Used)
	}
	server.Do(t, "SCRIPT", "FLUSH")
	if d := admit(0, 1); d.Day.Used != 8 || nodes[0].RedisStats().Failed > failureThreshold {
		t.Errorf("after SCRIPT FLUSH %d are counted, want 8 in Redis", d.Day.Used)
	}
}

// TestEachNodeCountsStrikes: a client that sends its requests to three nodes in turn gets three times the strikes. The
// node that bans it tells the others through the store. The numbers are those of docs/limits.md.
func TestEachNodeCountsStrikes(t *testing.T) {
	t.Parallel()
	server, clock := redistest.Start(t), newClock(noon)
	var nodes []*Redis
	var keys []*Caller
	for range 3 {
		r := newVirtualOn(t, server, DefaultConfig(), clock.Now)
		nodes, keys = append(nodes, r), append(keys, r.Caller(nil, 1, "k", narrow, nil))
	}
	nodes[0].Admit(keys[0])
	for i, r := range nodes {
		r.Admit(keys[i]) // the first of the run of refusals
	}
	clock.advance(3 * time.Second)
	var ban *Ban
	strikes := 0
	for ; ban == nil && strikes < 100; strikes++ {
		ban = nodes[strikes%3].Admit(keys[strikes%3]).NewBan
	}
	if strikes != 3*19+1 || ban == nil {
		t.Fatalf("%d strikes led to the ban %+v, want 3*19+1 strikes", strikes, ban)
	}
	for i, r := range nodes {
		if i > 0 {
			setBan(r.Limiter, keys[i], ban)
		}
		if d := r.Admit(keys[i]); d.Outcome != Banned || d.NewBan != nil || d.RetryAfter != 120 {
			t.Errorf("node %d, told of the ban = %+v, want banned for 120 s", i, d)
		}
	}
	clock.set(ban.Until)
	for i, r := range nodes {
		if d := hammer(t, r.Limiter, keys[i], clock); d.NewBan.Level != 2 {
			t.Errorf("the next ban of node %d has level %d, want 2 on each node", i, d.NewBan.Level)
		}
	}
}
