package ratelimit

import (
	"testing"

	"pgregory.net/rapid"

	"example.com/petstore/internal/ratelimit/redistest"
)

// TestTheScriptAgainstAReference holds the script against the reference that the rule in Go is held against.
func TestTheScriptAgainstAReference(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	rapid.Check(t, func(rt *rapid.T) {
		r := newModelRun(rt)
		r.useRedis(t, rt, server, 1)
		actions := r.actions()
		actions["step"] = r.step
		delete(actions, "ban") // those of the store are each node's own, and need no script
		delete(actions, "lift")
		rt.Repeat(actions)
	})
}

// TestNodesAgainstAReference has several nodes take turns: together they are one limiter.
func TestNodesAgainstAReference(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	rapid.Check(t, func(rt *rapid.T) {
		r := newModelRun(rt)
		r.useRedis(t, rt, server, 3)
		rt.Repeat(r.actions())
	})
}

// useRedis puts nodes on an emptied server in place of the memory.
func (r *modelRun) useRedis(t *testing.T, rt *rapid.T, server *redistest.Server, n int) {
	server.Do(t, "FLUSHALL")
	r.cached = true
	var nodes []Limiter
	for range n {
		node := newVirtualOn(t, server, r.cfg, r.clock.Now)
		rt.Cleanup(node.Close)
		nodes = append(nodes, node)
	}
	r.setNodes(nodes...)
	for i := range r.keys {
		r.onAll(func() { r.handle(i) })
	}
}
