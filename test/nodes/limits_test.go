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
		failed, err := strconv.Atoi(n.Metric(redisFailed))
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
				a, err := servertest.Send(d.t.Context(), http.DefaultClient, servertest.Request{Method: "GET", URL: d.nodes[(c+i)%len(d.nodes)].URL + "/pets", Key: key})
				mu.Lock()
				switch {
				case err != nil || a.Status != http.StatusOK && a.Status != http.StatusTooManyRequests:
					d.t.Errorf("GET /pets = %d %s, %v", a.Status, a.Body, err)
				case a.Status == http.StatusOK:
					admitted++
					lefts[remaining(a)] = true
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
	case a.Status == http.StatusOK:
		r.admitted++
		r.left[node] = remaining(a.Answer)
	case a.Code == "rate_limit_exceeded" || deny && a.Code == "service_unavailable":
		if n, err := strconv.Atoi(a.Header.Get("Retry-After")); err != nil || n < 1 {
			r.t.Errorf("node %d: %d with Retry-After %q", node, a.Status, a.Header.Get("Retry-After"))
		}
	default:
		r.t.Fatalf("node %d = %d %s", node, a.Status, a.Body)
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
		servertest.Eventually(r.t, "the node asks Redis again", func() bool { return n.Metric(redisAway) == "0" })
	}
	for _, n := range r.nodes {
		if got, err := servertest.UsedToday(n.URL, r.key); err != nil || got < int64(least) || got > int64(r.admitted+r.failures()) {
			r.t.Errorf("%d are counted of %d admitted, want %d at least: %v", got, r.admitted, least, err)
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
				if got := n.Metric(redisAway); got != "1" {
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
