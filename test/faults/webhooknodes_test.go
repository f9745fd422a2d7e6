//go:build linux

package faults

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/petstore/internal/store/postgres/postgrestest"
	"example.com/petstore/test/servertest"
)

// A couple is two nodes on one database. They deliver the events of a shop to a receiver
// that is well and to a moody one.
type couple struct {
	*integrator
	dir, db       string
	addrs         [2]string
	nodes         [2]*servertest.Server // nil while it is dead
	calm          atomic.Bool
	steady, moody *inbox
}

func newCouple(t *testing.T, db string) *couple {
	t.Helper()
	dir := t.TempDir()
	c := &couple{integrator: newIntegrator(t, dir, "--db="+db), dir: dir, db: db}
	c.steady, c.moody = newInbox(t, well), newMoodyInbox(t, c.calm.Load)
	for i := range c.nodes {
		c.addrs[i] = servertest.FreeAddr(t)
		c.start(i)
	}
	c.hook(c.steady.URL)
	c.hook(c.moody.URL)
	return c
}

func (c *couple) start(i int) {
	c.Helper()
	c.nodes[i] = c.startHooks(c.dir, "--db="+c.db, "--addr="+c.addrs[i])
}

// write makes events at both nodes, when they can, until the function that it returns is
// called.
func (c *couple) write() (stop func()) {
	ctx, cancel := context.WithCancel(c.Context())
	var all sync.WaitGroup
	for _, addr := range c.addrs {
		all.Go(func() {
			for ctx.Err() == nil {
				_, _ = exchange(c.Context(), http.DefaultClient, "POST", "http://"+addr+"/categories", c.key, `{"name":"dogs"}`, "") // it may be away
				rest(ctx, 10*time.Millisecond)
			}
		})
	}
	return func() { cancel(); all.Wait() }
}

// delivered returns how many events a node has delivered since its start.
func (c *couple) delivered(i int) int {
	c.Helper()
	if c.nodes[i] == nil {
		return 0
	}
	n, err := strconv.Atoi(c.nodes[i].Metric(`petstore_webhook_tries_total{outcome="delivered"}`))
	if err != nil {
		c.Fatal(err)
	}
	return n
}

// delivering returns a node that delivers now.
func (c *couple) delivering() (node int) {
	c.Helper()
	before := [2]int{c.delivered(0), c.delivered(1)}
	servertest.Eventually(c.T, "a node delivers", func() bool {
		for node = range c.nodes {
			if c.delivered(node) >= before[node]+20 {
				return true
			}
		}
		return false
	})
	return node
}

// TestOtherNodeDelivers: the node that delivers is killed, and the other takes over. Each event has reached both
// receivers in the end.
func TestOtherNodeDelivers(t *testing.T) {
	t.Parallel()
	c := newCouple(t, postgrestest.Start(t).URL("postgres"))
	stop := c.write()
	node := c.delivering()
	c.nodes[node].Kill()
	c.nodes[node] = nil
	if other := c.delivering(); other == node {
		t.Errorf("node %d delivers though it is dead", node)
	}
	c.start(node)
	c.delivering()
	stop()
	c.calm.Store(true)
	c.finish(1, c.nodes[:], c.steady, c.moody)
}
