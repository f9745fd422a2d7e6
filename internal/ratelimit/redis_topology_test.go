package ratelimit

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/processtest"
	"example.com/petstore/internal/ratelimit/redistest"
)

// TestSentinelFailover has a master killed, or made a replica. A sentinel makes the other one the master, and decisions go
// on: without Redis in between, and then there.
func TestSentinelFailover(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(master, sentinel *redistest.Server){
		"killed":   func(master, _ *redistest.Server) { master.Kill() },
		"replaced": func(_, sentinel *redistest.Server) { sentinel.Do(t, "SENTINEL", "FAILOVER", "petstore") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			failOver(t, end)
		})
	}
}

func failOver(t *testing.T, end func(master, sentinel *redistest.Server)) {
	t.Helper()
	awaitMinute(t)
	master := redistest.Start(t, "--repl-diskless-sync-delay", "0")
	replica := redistest.StartReplica(t, master)
	sentinels := redistest.StartSentinels(t, 3, "petstore", master, 1)
	nodes := startNodes(t, redistest.SentinelURL("petstore", sentinels), 2, false, time.Second)
	keys := handles(nodes, plenty)
	admitted := int64(0)
	admit := func() {
		t.Helper()
		for i, r := range nodes {
			if d := r.Admit(keys[i]); !d.Admitted() {
				t.Fatalf("node %d = %+v, want admitted", i, d)
			}
			admitted++
		}
	}
	for range 50 {
		admit()
	}
	master.Do(t, "WAIT", "1", "5000")
	end(master, sentinels[0])
	for range 50 {
		admit()
	}
	replica.Await(t, "role:master\r\n")
	processtest.Eventually(t, "the new master decides", func() bool {
		before := nodes[0].RedisStats().Redis
		admit()
		return nodes[0].RedisStats().Redis > before
	})
	for i, r := range nodes {
		if d := r.Peek(keys[i]); d.Day.Used < 100 || d.Day.Used > admitted {
			t.Errorf("node %d: %d are counted of %d, want at least the 100 that the old master had replicated", i, d.Day.Used, admitted)
		}
	}
}

// TestCluster: the callers spread over the masters of a cluster, and each is counted exactly.
func TestCluster(t *testing.T) {
	t.Parallel()
	awaitMinute(t)
	masters := redistest.StartCluster(t, 3)
	nodes := append(startNodes(t, redistest.ClusterURL(masters), 3, false, 10*time.Second),
		startNodes(t, masters[1].URL(), 1, false, 10*time.Second)...) // one address leads to all
	const workspaces = 12
	limits := Limits{PerMinute: 40, PerDay: 1000}
	for workspace := range int64(workspaces) {
		var keys []*Caller
		for i, r := range nodes {
			keys = append(keys, r.Caller(nil, workspace, fmt.Sprint("key", i), limits, nil))
		}
		got := inParallel(8, 10, func(i int) (int64, bool) {
			d := nodes[i%4].Admit(keys[i%4])
			return d.Minute.Remaining(), d.Admitted()
		})
		checkCountdown(t, got, 40)
	}
	for i, m := range masters {
		if n := m.Do(t, "DBSIZE"); n == "0" {
			t.Errorf("master %d holds no key of %d workspaces", i, workspaces)
		}
	}
	for i, r := range nodes {
		if s := r.RedisStats(); s.Failed != 0 || s.Local != 0 {
			t.Errorf("node %d: RedisStats = %+v, want no failure", i, s)
		}
	}
}

// TestClusterWithoutOneMaster: one master is away. A node without requests finds that Redis answers. A node whose requests fail
// counts alone for a moment, and then again in Redis those of the other masters. The log says so once.
func TestClusterWithoutOneMaster(t *testing.T) {
	t.Parallel()
	awaitMinute(t)
	masters := redistest.StartCluster(t, 3)
	for _, m := range masters { // else all refuse when they have noticed that one is away
		m.Do(t, "CONFIG", "SET", "cluster-require-full-coverage", "no")
	}
	r, log := newIdle(t, redistest.ClusterURL(masters))
	r.timeout = 250 * time.Millisecond
	var gone, there *Caller
	for workspace := int64(1); gone == nil || there == nil; workspace++ {
		c := r.Caller(nil, workspace, fmt.Sprint("key", workspace), plenty, nil)
		if slot, err := strconv.Atoi(masters[0].Do(t, "CLUSTER", "KEYSLOT", keyPrefix+c.subject.name)); err != nil {
			t.Fatal(err)
		} else if slot <= 16384/3 { // of three masters
			gone = c
		} else {
			there = c
		}
	}
	counted := func(c *Caller) bool {
		t.Helper()
		before := r.RedisStats().Redis
		if d := r.Admit(c); !d.Admitted() {
			t.Fatalf("Admit = %+v, want admitted", d)
		}
		return r.RedisStats().Redis > before
	}
	masters[0].Pause(t)
	t.Cleanup(func() { masters[0].Resume(t) })
	for range 8 {
		if r.check(); r.away.Load() {
			t.Fatalf("Redis is away for a node without requests:\n%s", log)
		}
	}
	for range 2 {
		for !r.away.Load() {
			if counted(gone) {
				t.Fatal("a master that is away has counted")
			}
		}
		processtest.Eventually(t, "another master counts", func() bool { r.Check(); return counted(there) })
	}
	if strings.Count(log.String(), "level=ERROR") != 1 || strings.Count(log.String(), "\n") != 2 {
		t.Errorf("the log is %q, want that Redis is away and that it answers, once", log)
	}
	masters[0].Resume(t)
	processtest.Eventually(t, "both masters count", func() bool { r.Check(); return counted(gone) && counted(there) })
}

// TestTLS: rediss:// encrypts. That the certificate is checked is TestTheLogSaysWhyRedisCannotBeUsed's.
func TestTLS(t *testing.T) {
	t.Parallel()
	_, url, _ := redistest.StartTLS(t)
	nodes := startNodes(t, url+"?skip_verify=true", 1, false, 10*time.Second)
	c := nodes[0].Caller(nil, 1, "k", plenty, nil)
	if d := nodes[0].Admit(c); d.Minute.Remaining() != plenty.PerMinute-1 || nodes[0].RedisStats().Redis != 1 {
		t.Errorf("over TLS = %+v, %+v, want the first decision of Redis", d, nodes[0].RedisStats())
	}
}
