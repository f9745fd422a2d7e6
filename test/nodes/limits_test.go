package nodes

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"example.com/petstore/internal/ratelimit/redistest"
	"example.com/petstore/test/servertest"
)

const (
	redisAway   = "petstore_limiter_redis_away"
	redisFailed = "petstore_limiter_redis_failures_total"
	redisAsked  = `petstore_limiter_redis_decisions_total{source="redis"}`
)

// TestFourNodesAdmitExactlyTheLimit: one quota, four nodes, one Redis. On a
// machine that is so busy that a call takes longer than 25 ms, a node decides
// alone for it: such a turn is taken again.
func TestFourNodesAdmitExactlyTheLimit(t *testing.T) {
	t.Parallel()
	awaitDay(t)
	redis := redistest.Start(t)
	d := deploy(t, newDatabase(t), 4, "--redis="+redis.URL())
	const limit, requests = 300, 480
	for turn := range 10 {
		key := d.workspace(fmt.Sprint("shop", turn), endless, limit)
		failed := d.failures()
		admitted, lefts := d.spend(key.Key, requests)
		if d.failures() != failed {
			if admitted > 4*limit {
				t.Fatalf("%d admitted by four nodes of which some decided alone, want %d at most", admitted, 4*limit)
			}
			continue
		}
		if admitted != limit || len(lefts) != limit {
			t.Errorf("%d admitted of %d, with %d different numbers left, want exactly %d", admitted, requests, len(lefts), limit)
		}
		return
	}
	t.Error("in ten turns this machine was too busy for each call to Redis to take 25 ms at most")
}

// failures returns how many calls to Redis failed on all nodes.
func (d *deployment) failures() (all int) {
	d.t.Helper()
	for _, n := range d.nodes {
		failed, err := strconv.Atoi(metric(d.t, n, redisFailed))
		if err != nil {
			d.t.Fatal(err)
		}
		all += failed
	}
	return all
}

// spend sends requests from eight clients to the nodes in turn, and returns how
// many were admitted, and the numbers that these said were left.
func (d *deployment) spend(key string, requests int) (admitted int, lefts map[int]bool) {
	d.t.Helper()
	const clients = 8
	lefts = map[int]bool{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for c := range clients {
		all.Go(func() {
			for i := range requests / clients {
				a, err := send(http.DefaultClient, request{method: "GET", url: d.nodes[(c+i)%len(d.nodes)].URL + "/pets", key: key})
				mu.Lock()
				switch {
				case err != nil || a.status != http.StatusOK && a.status != http.StatusTooManyRequests:
					d.t.Errorf("GET /pets = %d %s, %v", a.status, a.body, err)
				case a.status == http.StatusOK:
					admitted++
					lefts[a.remaining()] = true
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return admitted, lefts
}

// prompt is how long an answer may take while Redis is away: the time-out of 25
// ms, and what a machine adds that runs all tests at once.
const prompt = 2 * time.Second

// A trial has two nodes on a Redis that is stopped and killed.
type trial struct {
	*deployment
	key      string
	redis    *redistest.Server
	left     [2]int // what each node last said
	admitted int
}

const dayLimit = 60

func newTrial(t *testing.T, choice string) *trial {
	t.Helper()
	awaitDay(t)
	redis := redistest.Start(t)
	d := deploy(t, newDatabase(t), 2, "--redis="+redis.URL(), "--limiter-on-failure="+choice)
	return &trial{deployment: d, key: d.workspace("shop", endless, dayLimit).Key, redis: redis}
}

// request asks a node once. The answer must be prompt, and one of admitted,
// refused, and with deny unavailable.
func (r *trial) request(node int, deny bool) answer {
	r.t.Helper()
	a := get(r.t, r.nodes[node].URL+"/pets", r.key)
	if a.took > prompt {
		r.t.Errorf("node %d took %v to answer, want %v at most", node, a.took, prompt)
	}
	switch {
	case a.status == http.StatusOK:
		r.admitted++
		r.left[node] = a.remaining()
	case a.code == "rate_limit_exceeded" || deny && a.code == "service_unavailable":
		if n, err := strconv.Atoi(a.header.Get("Retry-After")); err != nil || n < 1 {
			r.t.Errorf("node %d: %d with Retry-After %q", node, a.status, a.header.Get("Retry-After"))
		}
	default:
		r.t.Fatalf("node %d = %d %s", node, a.status, a.body)
	}
	return a
}

// spendAll asks each node more often than it can admit.
func (r *trial) spendAll(deny bool) {
	r.t.Helper()
	for node := range r.nodes {
		for range dayLimit + 5 {
			r.request(node, deny)
		}
	}
}

// recovered waits until Redis decides again. Each node then says that at least
// so many requests are used, and no more than were admitted or got no answer.
func (r *trial) recovered(least int) {
	r.t.Helper()
	for _, n := range r.nodes {
		servertest.Eventually(r.t, "the node asks Redis again", func() bool { return metric(r.t, n, redisAway) == "0" })
	}
	for _, n := range r.nodes {
		if got := usedToday(r.t, n, r.key); got < least || got > r.admitted+r.failures() {
			r.t.Errorf("%d are counted of %d admitted, want %d at least", got, r.admitted, least)
		}
	}
}

// TestRedisStops: Redis is stopped without its connections noticing. The nodes
// answer at once, as they were told to, and admit no more than the documented
// bound. When Redis goes on, what they admitted is not added up.
func TestRedisStops(t *testing.T) {
	t.Parallel()
	for _, choice := range []string{"local", "deny"} {
		t.Run(choice, func(t *testing.T) {
			t.Parallel()
			r := newTrial(t, choice)
			for range 5 {
				r.request(0, choice == "deny")
				r.request(1, choice == "deny")
			}
			want, least := r.admitted, r.admitted
			if choice == "local" { // k + n(L-k), each node with the k that it knew
				want, least = r.admitted+r.left[0]+r.left[1], dayLimit
			}
			r.redis.Pause(t)
			r.spendAll(choice == "deny")
			if r.admitted != want {
				t.Errorf("%d admitted, want %d", r.admitted, want)
			}
			for _, n := range r.nodes {
				if got := metric(t, n, redisAway); got != "1" {
					t.Errorf("%s = %q while Redis is stopped, want 1", redisAway, got)
				}
			}
			r.redis.Resume(t)
			r.recovered(least)
			if choice == "local" {
				if r.spendAll(false); r.admitted != want {
					t.Errorf("%d admitted, with Redis again, want no more than the bound %d", r.admitted, want)
				}
			}
		})
	}
}

// TestRedisIsKilled: Redis comes back empty, and gets the counts back; its
// scripts are flushed, and nobody notices.
func TestRedisIsKilled(t *testing.T) {
	t.Parallel()
	r := newTrial(t, "local")
	both := func(times int) {
		for range times {
			r.request(0, false)
			r.request(1, false)
		}
	}
	both(10)
	lost := r.failures() // calls that took too long, which Redis may not have counted
	r.redis.Kill()
	both(5)
	if err := r.redis.Run(); err != nil {
		t.Fatal(err)
	}
	r.recovered(24 - lost) // node 0 has heard of 19, and both admitted 5 more
	lost -= r.failures()
	for range 5 {
		r.redis.Do(t, "SCRIPT", "FLUSH")
		both(1)
	}
	if r.admitted != 40 {
		t.Errorf("%d admitted, want all 40", r.admitted)
	}
	r.recovered(34 - lost - r.failures())
	for _, n := range r.nodes {
		if metric(t, n, redisAsked) == "0" {
			t.Error("no decision was made by Redis")
		}
	}
}

// TestRedisOverTLS: rediss:// trusts the roots of the system, to which
// SSL_CERT_FILE adds one's own.
func TestRedisOverTLS(t *testing.T) {
	t.Parallel()
	_, url, certificate := redistest.StartTLS(t)
	dir := t.TempDir()
	s, err := petstore.Serve(servertest.Options{Dir: dir, Flags: []string{"--redis=" + url}, Env: []string{"SSL_CERT_FILE=" + certificate}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	servertest.Eventually(t, "the node asks Redis", func() bool { return metric(t, s, redisAway) == "0" })
	get(t, s.URL+"/pets", "")
	servertest.Eventually(t, "a decision of Redis", func() bool {
		get(t, s.URL+"/pets", "")
		return metric(t, s, redisAsked) != "0"
	})
}
