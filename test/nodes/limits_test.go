package nodes

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"testing"

	"example.com/petstore/internal/ratelimit/redistest"
	"example.com/petstore/test/servertest"
)

const (
	redisAway   = "petstore_limiter_redis_away"
	redisFailed = "petstore_limiter_redis_failures_total"
)

// limits: three nodes admit exactly the quota. On a machine that is so busy that a call
// to Redis takes longer than 25 ms, a node decides alone for it: such a turn is taken
// again.
func limits(d *deployment) {
	const limit, requests = 300, 480
	for turn := range 10 {
		key := d.workspace(fmt.Sprint("limits", turn), endless, limit)
		failed := d.failures()
		admitted, lefts := d.spend(key.Key, requests)
		if d.failures() != failed {
			if admitted > 3*limit {
				d.t.Fatalf("%d admitted by three nodes of which some decided alone, want %d at most", admitted, 3*limit)
			}
			continue
		}
		if admitted != limit || len(lefts) != limit {
			d.t.Errorf("%d admitted of %d, with %d different numbers left, want exactly %d", admitted, requests, len(lefts), limit)
		}
		return
	}
	d.t.Error("in ten turns this machine was too busy for each call to Redis to take 25 ms at most")
}

// failures returns how many calls to Redis failed on all nodes.
func (d *deployment) failures() (all int) {
	d.t.Helper()
	for _, n := range d.nodes {
		failed, err := strconv.Atoi(n.Metric(redisFailed))
		must(d.t, err)
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

// TestRedisStops: Redis is stopped without its connections noticing. A node answers all the same, as it was told to, and says
// so, until Redis goes on. What it admits meanwhile is internal/ratelimit's to test.
func TestRedisStops(t *testing.T) {
	t.Parallel()
	for choice, want := range map[string]int{"local": http.StatusOK, "deny": http.StatusServiceUnavailable} {
		t.Run(choice, func(t *testing.T) {
			t.Parallel()
			redis := redistest.Start(t)
			d := deploy(t, newDatabase(t), 1, "--redis="+redis.URL(), "--limiter-on-failure="+choice)
			key, node := d.workspace("shop", endless, 60).Key, d.nodes[0]
			redis.Pause(t)
			for range 5 { // of which the first are not answered in time
				if a := get(t, node.URL+"/pets", key); a.Status != want || want != http.StatusOK && a.Header.Get("Retry-After") == "" {
					t.Errorf("GET /pets = %d %s, want %d", a.Status, a.Body, want)
				}
			}
			if got := node.Metric(redisAway); got != "1" {
				t.Errorf("%s = %q while Redis is stopped, want 1", redisAway, got)
			}
			redis.Resume(t)
			servertest.Eventually(t, "the node asks Redis again", func() bool { // which may take too long now and then
				return node.Metric(redisAway) == "0" && get(t, node.URL+"/pets", key).Status == http.StatusOK
			})
		})
	}
}
