package ratelimit

import "context"

// PeekWorkspace implements Limiter.
func (m *Memory) PeekWorkspace(_ context.Context, id int64, limits Limits) Decision {
	now := m.now().UnixNano()
	m.mu.RLock()
	ws := m.workspaces[id]
	m.mu.RUnlock()
	if ws == nil {
		return windows{}.at(now).decision(Admitted, limits, now)
	}
	ws.mu.Lock()
	defer ws.mu.Unlock()
	now = m.inOrder(now, &ws.last)
	return ws.windows.at(now).decision(Admitted, limits, now)
}

// PeekWorkspace implements Limiter. Without Redis it tells what this node knows.
func (r *Redis) PeekWorkspace(ctx context.Context, id int64, limits Limits) Decision {
	if r.breaker.open.Load() {
		return r.m.PeekWorkspace(ctx, id, limits)
	}
	q := question{key: keyOf(workspaceSubject(id)), mode: modePeek, limits: limits, known: r.known(id)}
	a, err := r.call(&q)
	if err != nil {
		return r.m.PeekWorkspace(ctx, id, limits)
	}
	return a.windows.decision(Admitted, limits, a.now)
}

// known returns what this node last heard, or restored, of a workspace: Redis may have lost it.
func (r *Redis) known(id int64) windows {
	r.m.mu.RLock()
	ws := r.m.workspaces[id]
	r.m.mu.RUnlock()
	r.mu.Lock()
	s := r.shares[id]
	r.mu.Unlock()
	if ws == nil {
		return windows{}
	}
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if s != nil {
		return s.known
	}
	return ws.windows
}
