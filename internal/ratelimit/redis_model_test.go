package ratelimit

import (
	"testing"
	"time"

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
		furthest := r.clock.Now()
		actions["step"] = func(t *rapid.T) { furthest = r.stepBeside(t, furthest) }
		delete(actions, "ban") // those of the store are each node's own, and need no script
		delete(actions, "lift")
		rt.Repeat(actions)
	})
}

// stepBeside sets the clock of Redis, which may have gone as far as furthest, and returns how far it has gone now. In two
// things the node and the script may differ from the reference. The node answers a banned key by itself, and a minute that
// began or ended meanwhile is not settled in Redis: so a new key settles it there before the step and after it. And the
// script forgets what says nothing any more: when the clock goes back by more than a day after that, the keys are new.
func (r *modelRun) stepBeside(t *rapid.T, furthest time.Time) time.Time {
	settle := func() {
		r.ask(t, r.newKey(r.keys[0].ws))
		r.ask(t, r.newKey(r.keys[2].ws))
	}
	settle()
	if now := r.clock.Now(); now.After(furthest) {
		furthest = now
	}
	r.step(t)
	settle()
	now := r.clock.Now()
	if now.After(furthest.AddDate(0, 0, -1)) {
		return furthest
	}
	for i, k := range r.keys {
		r.keys[i] = r.newKey(k.ws)
	}
	return now
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
	var nodes []Limiter
	for range n {
		node := newVirtualOn(t, server, r.cfg, r.clock.Now)
		rt.Cleanup(node.Close)
		nodes = append(nodes, node)
	}
	r.setNodes(nodes...)
	for _, k := range r.keys {
		r.onAll(func() { r.handle(k) })
	}
}
