package ratelimit

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"testing"
	"time"

	"example.com/petstore/internal/ratelimit/redistest"
)

// plenty is more than a test takes, so that no window ends in it.
var plenty = Limits{PerMinute: 1000, PerDay: 100_000}

// startNodes returns limiters as a service has them, by the server's clock, with a longer time for a call if one is
// given: on a busy machine 25 ms are not always kept.
func startNodes(t *testing.T, server *redistest.Server, n int, f OnFailure, wait time.Duration) []*Redis {
	t.Helper()
	var nodes []*Redis
	for range n {
		r, err := newRedis(RedisOptions{URL: server.URL(), Config: DefaultConfig(), Now: time.Now, OnFailure: f})
		if err != nil {
			t.Fatal(err)
		}
		if wait > 0 {
			r.timeout = wait
		}
		r.start()
		t.Cleanup(r.Close)
		nodes = append(nodes, r)
	}
	return nodes
}

// eventually waits until f returns true.
func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(15 * time.Second); !f(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within 15 s: %s", what)
		}
	}
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
		all = append(all, r.Caller(1, fmt.Sprint("key", i), limits))
	}
	return all
}

// awaitMinute returns when the day has more than a minute left, so that it does not end in the test.
func awaitMinute(t *testing.T) {
	t.Helper()
	eventually(t, "a new day", func() bool {
		return time.Until(time.Now().UTC().Truncate(24*time.Hour).Add(24*time.Hour)) > 10*time.Second
	})
}

func TestFourNodesAdmitExactlyTheLimit(t *testing.T) {
	t.Parallel()
	awaitMinute(t)
	nodes := startNodes(t, redistest.Start(t), 4, GoOnAlone, 10*time.Second)
	keys := handles(nodes, plenty)
	got := inParallel(64, 25, func(i int) (int64, bool) {
		d := nodes[i%4].Admit(t.Context(), keys[i%4])
		return d.Minute.Remaining(), d.Admitted()
	})
	checkCountdown(t, got, 1000)
	a := netip.MustParseAddr("2001:db8::1")
	got = inParallel(16, 10, func(i int) (int64, bool) {
		d := nodes[i%4].AdmitAddress(t.Context(), a)
		return d.Minute.Remaining(), d.Admitted()
	})
	checkCountdown(t, got, 60)
	if s := nodes[0].RedisStats(); s.Failed != 0 || s.Alone != 0 || s.Denied == 0 || s.LatencyCount == 0 {
		t.Errorf("RedisStats = %+v, want no failure, and refusals known beforehand", s)
	}
}

func TestAStalledServerLeavesNoGhosts(t *testing.T) {
	t.Parallel()
	awaitMinute(t)
	server := redistest.Start(t)
	const wait = 250 * time.Millisecond // so that only the stall, not a busy machine, lets calls fail
	nodes := startNodes(t, server, 2, GoOnAlone, wait)
	keys := handles(nodes, plenty)
	admitted := 0
	for range 10 {
		for i, r := range nodes {
			if r.Admit(t.Context(), keys[i]).Admitted() {
				admitted++
			}
		}
	}
	eventually(t, "nothing is owed", func() bool { return nodes[0].pay() == nil && nodes[1].pay() == nil })
	server.Pause(t)
	begun := time.Now()
	for range 20 {
		for i, r := range nodes {
			if d := r.Admit(t.Context(), keys[i]); d.Admitted() {
				admitted++
			}
		}
	}
	if took := time.Since(begun); took > 2*3*wait+time.Second {
		t.Errorf("40 decisions without an answer took %v, want 3 time-outs of %v at each node, and then no more", took, wait)
	}
	if !isAway(nodes, true)() {
		t.Error("the breakers are closed, want open")
	}
	server.Resume(t)
	eventually(t, "Redis is back", isAway(nodes, false))
	eventually(t, "the counts of the outage are added", func() bool {
		return nodes[0].Peek(t.Context(), keys[0]).Day.Used >= int64(admitted)
	})
	for i, r := range nodes {
		if d := r.Peek(t.Context(), keys[i]); d.Day.Used != int64(admitted) {
			t.Errorf("node %d: %d are counted, want %d, each once", i, d.Day.Used, admitted)
		}
	}
}

func TestWithoutRedis(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		on   OnFailure
		want int
	}{
		{GoOnAlone, 12 + 4*(60-12)}, // k + n(L-k)
		{ShareOut, 60},
		{Deny, 12},
	} {
		t.Run(fmt.Sprint(test.on), func(t *testing.T) {
			t.Parallel()
			awaitMinute(t)
			server := redistest.Start(t)
			nodes := startNodes(t, server, 4, test.on, 10*time.Second)
			keys := handles(nodes, free)
			admitted := 0
			for range 3 {
				for i, r := range nodes {
					if r.Admit(t.Context(), keys[i]).Admitted() {
						admitted++
					}
				}
			}
			eventually(t, "each node knows of four", func() bool {
				for i, r := range nodes {
					_ = r.greet(gone)
					q := r.ask(keys[i], modeSettle)
					if a, err := r.call(&q); err == nil {
						keys[i].ws.mu.Lock()
						keys[i].key.shared.learn(&a, &q, &keys[i].ws.windows)
						keys[i].ws.mu.Unlock()
					}
				}
				return nodes[0].RedisStats().Nodes == 4
			})
			server.Kill()
			for i, r := range nodes {
				for range 70 {
					d := r.Admit(t.Context(), keys[i])
					if d.Admitted() {
						admitted++
					} else if want := test.on == Deny; (d.Outcome == Unavailable) != want || d.RetryAfter < 1 {
						t.Fatalf("refusal without Redis = %+v, want unavailable: %v, with a Retry-After", d, want)
					}
				}
			}
			if admitted != test.want {
				t.Errorf("%d admitted, want %d", admitted, test.want)
			}
		})
	}
}

// TestWhatMayCountTwiceIsTold: what was admitted without Redis, each time that adding it failed.
func TestWhatMayCountTwiceIsTold(t *testing.T) {
	t.Parallel()
	awaitMinute(t)
	server := redistest.Start(t)
	r := startNodes(t, server, 1, GoOnAlone, 10*time.Second)[0]
	c, address := r.Caller(1, "k", plenty), netip.MustParseAddr("192.0.2.1")
	server.Kill()
	for range 5 {
		r.Admit(t.Context(), c)
	}
	for range 2 {
		r.AdmitAddress(t.Context(), address)
	}
	const before = 1 + 2 // the second and third call, after which Redis is away, were to add those before
	for i := range int64(3) {
		if got, want := r.RedisStats().Repeated, before+5*i; got != want {
			t.Errorf("%d may count twice, want %d", got, want)
		}
		if err := r.pay(); err == nil {
			t.Fatal("pay without Redis failed not")
		}
	}
	r.mu.Lock()
	subjects := slices.Collect(maps.Keys(r.owed))
	r.mu.Unlock()
	for _, subject := range subjects {
		if err := r.payForAddress(subject); err == nil {
			t.Fatal("payForAddress without Redis failed not")
		}
	}
	if got, want := r.RedisStats().Repeated, int64(before+5*3+2); got != want {
		t.Errorf("%d may count twice, want %d", got, want)
	}
}

func TestAServerThatForgotGetsTheCountsBack(t *testing.T) {
	t.Parallel()
	awaitMinute(t)
	server := redistest.Start(t)
	nodes := startNodes(t, server, 1, GoOnAlone, 10*time.Second)
	r, c := nodes[0], nodes[0].Caller(1, "k", plenty)
	for range 7 {
		r.Admit(t.Context(), c)
	}
	server.Kill()
	for range 5 {
		r.Admit(t.Context(), c)
	}
	if err := server.Run(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "Redis is back", isAway(nodes, false))
	if d := r.Admit(t.Context(), c); d.Day.Used != 13 {
		t.Errorf("after a restart with nothing: %d used, want 13", d.Day.Used)
	}
	server.Do(t, "SCRIPT", "FLUSH")
	if d := r.Admit(t.Context(), c); d.Day.Used != 14 {
		t.Errorf("after SCRIPT FLUSH: %d used, want 14", d.Day.Used)
	}
	if s := r.RedisStats(); s.Decided < 9 {
		t.Errorf("Redis decided on %d, want 9 at least", s.Decided)
	}
}

func TestBansReachEveryNode(t *testing.T) {
	t.Parallel()
	awaitMinute(t)
	nodes := startNodes(t, redistest.Start(t), 3, GoOnAlone, 10*time.Second)
	var keys []*Caller
	for _, r := range nodes {
		keys = append(keys, r.Caller(1, "k", free))
	}
	now := time.Now()
	nodes[0].SetBan("k", &Ban{KeyID: "k", From: now, Until: now.Add(time.Hour), By: ByOperator})
	for i, r := range nodes {
		if d := r.Admit(t.Context(), keys[i]); d.Outcome != Banned || d.NewBan != nil {
			t.Errorf("node %d after a ban at node 0 = %+v, want banned", i, d)
		}
	}
	for _, r := range nodes {
		r.SetBan("k", nil)
	}
	for i, r := range nodes {
		if d := r.Admit(t.Context(), keys[i]); !d.Admitted() {
			t.Errorf("node %d after it was lifted = %+v, want admitted", i, d)
		}
	}
}

func TestRedisBeginsWithoutAServer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.Kill()
	nodes := startNodes(t, server, 1, GoOnAlone, 0)
	c := nodes[0].Caller(1, "k", free)
	if d := nodes[0].Admit(t.Context(), c); !d.Admitted() || d.Day.Used != 1 {
		t.Errorf("without a server = %+v, want admitted as the first", d)
	}
	if err := server.Run(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "Redis is there", isAway(nodes, false))
	eventually(t, "it knows of the first", func() bool { return nodes[0].Peek(t.Context(), c).Day.Used == 1 })
}

func TestNewRedisRefuses(t *testing.T) {
	t.Parallel()
	if r, err := NewRedis(RedisOptions{URL: "redis://:secret@h:port", Config: DefaultConfig(), Now: time.Now}); err == nil {
		r.Close()
		t.Error("NewRedis with a wrong URL: error nil, want one")
	}
	if _, err := ParseOnFailure("never"); err == nil {
		t.Error("ParseOnFailure(never): error nil, want one")
	}
}
