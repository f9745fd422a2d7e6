package ratelimit

import (
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"example.com/petstore/internal/ratelimit/redistest"
)

// plenty is more than a test takes, so that no window ends in it.
var plenty = Limits{PerMinute: 1000, PerDay: 100_000}

// startNodes returns limiters as a service has them, by the server's clock, with a longer time for a call if one is
// given: on a busy machine 25 ms are not always kept.
func startNodes(t *testing.T, server *redistest.Server, n int, deny bool, wait time.Duration) []*Redis {
	t.Helper()
	var nodes []*Redis
	for range n {
		r, err := newRedis(RedisOptions{URL: server.URL(), Config: DefaultConfig(), Now: time.Now, Deny: deny})
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
	nodes := startNodes(t, redistest.Start(t), 4, false, 10*time.Second)
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
	if s := nodes[0].RedisStats(); s.Failed != 0 || s.Local != 0 || s.Cached == 0 {
		t.Errorf("RedisStats = %+v, want no failure, and refusals known beforehand", s)
	}
}

func TestAStalledServerLeavesNoGhosts(t *testing.T) {
	t.Parallel()
	awaitMinute(t)
	server := redistest.Start(t)
	const wait = 250 * time.Millisecond // so that only the stall, not a busy machine, lets calls fail
	nodes := startNodes(t, server, 2, false, wait)
	keys := handles(nodes, plenty)
	admitted := 0
	for range 10 {
		for i, r := range nodes {
			if r.Admit(t.Context(), keys[i]).Admitted() {
				admitted++
			}
		}
	}
	eventually(t, "Redis knows of all", func() bool { return nodes[0].report() == nil && nodes[1].report() == nil })
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

// hears has a node hear of a subject's counts, without a request.
func hears(t *testing.T, r *Redis, s *subject) {
	t.Helper()
	s.mu.Lock()
	q := s.ask(nil, modeReport)
	s.mu.Unlock()
	a, err := r.call(&q)
	if err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.learn(nil, &q, &a)
}

func TestWithoutRedis(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		deny bool
		want int
	}{
		{false, 12 + 4*(60-12)}, // k + n(L-k)
		{true, 12},
	} {
		t.Run(fmt.Sprint("deny ", test.deny), func(t *testing.T) {
			t.Parallel()
			awaitMinute(t)
			server := redistest.Start(t)
			nodes := startNodes(t, server, 4, test.deny, 10*time.Second)
			keys := handles(nodes, free)
			admitted := 0
			for range 3 {
				for i, r := range nodes {
					if r.Admit(t.Context(), keys[i]).Admitted() {
						admitted++
					}
				}
			}
			for i, r := range nodes {
				hears(t, r, keys[i].subject)
			}
			server.Kill()
			for i, r := range nodes {
				for range 70 {
					d := r.Admit(t.Context(), keys[i])
					if d.Admitted() {
						admitted++
					} else if want := test.deny; (d.Outcome == Unavailable) != want || d.RetryAfter < 1 {
						t.Fatalf("refusal without Redis = %+v, want unavailable: %v, with a Retry-After", d, want)
					}
				}
				if s := r.RedisStats(); (s.Unavailable == 70) != test.deny || (s.Local == 70) == test.deny {
					t.Errorf("RedisStats = %+v, want 70 that were decided locally, or that were not decided", s)
				}
			}
			if admitted != test.want {
				t.Errorf("%d admitted, want %d", admitted, test.want)
			}
		})
	}
}

// requesters are a key and an address, each with a limit of 60 a minute, at one node.
func requesters(t *testing.T, r *Redis) map[string]struct {
	subject *subject
	admit   func() Decision
} {
	t.Helper()
	c, a := r.Caller(1, "k", free), netip.MustParseAddr("192.0.2.1")
	address := r.addresses.lock(a, time.Now().UnixNano())
	address.mu.Unlock()
	return map[string]struct {
		subject *subject
		admit   func() Decision
	}{
		"key":     {c.subject, func() Decision { return r.Admit(t.Context(), c) }},
		"address": {address, func() Decision { return r.AdmitAddress(t.Context(), a) }},
	}
}

// TestAnAnswerInFlightAsRedisDies: Redis admits a request and dies, and the answer comes when the node has gone on without
// it. One node that knew 30 used of 60 admits 30 more, that one among them.
func TestAnAnswerInFlightAsRedisDies(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"key", "address"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			awaitMinute(t)
			server := redistest.Start(t)
			r := startNodes(t, server, 1, false, 10*time.Second)[0]
			who := requesters(t, r)[name]
			admitted := 0
			admit := func(times int) {
				for range times {
					if who.admit().Admitted() {
						admitted++
					}
				}
			}
			admit(30)
			s := who.subject
			s.mu.Lock()
			q := s.ask(nil, modeAdmit)
			s.remote.asking++
			s.mu.Unlock()
			a, err := r.call(&q)
			if err != nil || a.outcome != Admitted {
				t.Fatalf("the last call = %+v, %v, want admitted", a, err)
			}
			admitted++
			server.Kill()
			admit(15)
			s.mu.Lock()
			s.remote.asking--
			s.learn(nil, &q, &a)
			s.mu.Unlock()
			admit(100)
			if admitted != 60 {
				t.Errorf("%d admitted, want 60", admitted)
			}
		})
	}
}

// TestTheBoundOfANodeHoldsUnderLoad: Redis dies while many requests are under way, and one node admits no more than the
// limit, of a key and of an address.
func TestTheBoundOfANodeHoldsUnderLoad(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"key", "address"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range 5 {
				awaitMinute(t)
				server := redistest.Start(t)
				r := startNodes(t, server, 1, false, time.Second)[0]
				who := requesters(t, r)[name]
				var asked sync.WaitGroup
				asked.Add(20)
				killed := make(chan struct{})
				go func() {
					defer close(killed)
					asked.Wait()
					server.Kill()
				}()
				var first atomic.Int32
				got := inParallel(16, 20, func(int) (int64, bool) {
					admitted := who.admit().Admitted()
					if first.Add(1) <= 20 {
						asked.Done()
					}
					return 0, admitted
				})
				<-killed
				if len(got) > 60 {
					t.Fatalf("%d admitted, want 60 at most", len(got))
				}
			}
		})
	}
}

// TestDenyCountsNoMoreThanWasAsked: Redis stalls now and then. What counts was admitted, or its call failed; and no more
// counts than the limit.
func TestDenyCountsNoMoreThanWasAsked(t *testing.T) {
	t.Parallel()
	awaitMinute(t)
	server := redistest.Start(t)
	nodes := startNodes(t, server, 2, true, 0)
	limits := Limits{PerMinute: 1 << 40, PerDay: 2000}
	keys := handles(nodes, limits)
	stop, stalls := make(chan struct{}), sync.WaitGroup{}
	stalls.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
				server.Do(t, "CLIENT", "PAUSE", "30")
			}
		}
	})
	got := inParallel(8, 1000, func(i int) (int64, bool) {
		d := nodes[i%2].Admit(t.Context(), keys[i%2])
		return 0, d.Admitted()
	})
	close(stop)
	stalls.Wait()
	eventually(t, "Redis answers", isAway(nodes, false))
	failed := nodes[0].RedisStats().Failed + nodes[1].RedisStats().Failed
	admitted, used := int64(len(got)), int64(0)
	eventually(t, "a peek", func() bool { used = nodes[0].Peek(t.Context(), keys[0]).Day.Used; return used >= admitted })
	if used > admitted+failed || used > limits.PerDay {
		t.Errorf("%d count of %d, where %d were admitted and %d calls failed", used, limits.PerDay, admitted, failed)
	}
}

// TestWhatIsReportedCountsOnce: the answers to reports are lost, they come again and again, and Redis forgets in between.
func TestWhatIsReportedCountsOnce(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"key", "address"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			awaitMinute(t)
			server := redistest.Start(t)
			r := startNodes(t, server, 1, false, 10*time.Second)[0]
			who := requesters(t, r)[name]
			s, want := who.subject, int64(0)
			for range 3 {
				server.Kill()
				for range 4 {
					who.admit()
					want++
				}
				if err := server.Run(); err != nil {
					t.Fatal(err)
				}
				eventually(t, "Redis is back", isAway([]*Redis{r}, false))
				for range 3 { // this call, whose answer is lost, tells all that was ever admitted locally
					s.mu.Lock()
					q := s.ask(nil, modeReport)
					s.mu.Unlock()
					q.reported = windows{}
					if _, err := r.call(&q); err != nil {
						t.Fatal(err)
					}
				}
				if who.admit(); r.RedisStats().Redis == 0 {
					t.Fatal("Redis decided on nothing")
				}
				want++
				hears(t, r, s)
				s.mu.Lock()
				used := s.known(time.Now().UnixNano()).dayUsed
				s.mu.Unlock()
				if used != want {
					t.Fatalf("%d count, want %d", used, want)
				}
			}
		})
	}
}

func TestAServerThatForgotGetsTheCountsBack(t *testing.T) {
	t.Parallel()
	awaitMinute(t)
	server := redistest.Start(t)
	nodes := startNodes(t, server, 1, false, 10*time.Second)
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
	if s := r.RedisStats(); s.Redis < 9 {
		t.Errorf("Redis decided on %d, want 9 at least", s.Redis)
	}
}

// TestBansReachEveryNode: one that the limiter starts holds at once on all nodes; and when the store's keys say that it
// was lifted, it is, on each node that hears of it and then on all.
func TestBansReachEveryNode(t *testing.T) {
	t.Parallel()
	awaitMinute(t)
	server := redistest.Start(t)
	nodes := startNodes(t, server, 3, false, 10*time.Second)
	var keys []*Caller
	for _, r := range nodes {
		r.rules = newRules(Config{Strikes: 1, StrikeWindow: time.Minute, FirstBan: time.Hour, MaxBan: time.Hour})
		r.script = rueidis.NewLuaScript(r.rules.script())
		keys = append(keys, r.Caller(1, "k", Limits{PerMinute: 1, PerDay: 100}))
	}
	var ban *Ban
	eventually(t, "a ban", func() bool {
		ban = nodes[0].Admit(t.Context(), keys[0]).NewBan
		return ban != nil
	})
	for i, r := range nodes {
		if d := r.Admit(t.Context(), keys[i]); d.Outcome != Banned || d.NewBan != nil {
			t.Errorf("node %d after a ban at node 0 = %+v, want banned", i, d)
		}
		r.SetBan("k", ban)
		r.SetBan("k", nil)
	}
	for i, r := range nodes {
		r.Caller(1, "k", plenty)
		if d := r.Peek(t.Context(), keys[i]); !d.Admitted() {
			t.Errorf("Peek at node %d after it was lifted = %+v, want admitted", i, d)
		}
		if d := r.Admit(t.Context(), keys[i]); !d.Admitted() {
			t.Errorf("node %d after it was lifted = %+v, want admitted", i, d)
		}
	}
}

func TestRedisBeginsWithoutAServer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.Kill()
	nodes := startNodes(t, server, 1, false, 0)
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
}

func TestAnsweredCallsAreTimed(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	r, err := NewRedis(RedisOptions{
		URL: redistest.Start(t).URL(), Config: DefaultConfig(), Now: time.Now,
		Answered: func(took time.Duration) {
			if took > 0 && took < time.Minute {
				calls.Add(1)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	eventually(t, "Redis decides", func() bool {
		before := calls.Load()
		return r.Admit(t.Context(), r.Caller(1, "k", plenty)).Admitted() && r.RedisStats().Redis > 0 && calls.Load() > before
	})
}
