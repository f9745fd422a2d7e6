package ratelimit

import (
	"testing"

	"pgregory.net/rapid"

	"example.com/petstore/internal/ratelimit/redistest"
)

// TestNodesAgainstAReference has three nodes take turns: together they count as one, and each counts strikes for itself.
func TestNodesAgainstAReference(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	rapid.Check(t, func(rt *rapid.T) {
		server.Do(t, "FLUSHALL")
		r := newModelRun(rt, 3)
		for range r.keys {
			node := newVirtualOn(t, server, r.cfg, r.clock.Now)
			rt.Cleanup(node.Close)
			r.nodes = append(r.nodes, node)
		}
		rt.Repeat(r.actions())
	})
}
