package store

import "sync"

// A Bell wakes those who wait for events of a workspace. The zero value is ready.
type Bell struct {
	mu      sync.Mutex
	waiting map[int64]chan struct{}
}

// Written returns a channel that is closed when the bell rings for the workspace.
func (b *Bell) Written(workspace int64) <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	c, there := b.waiting[workspace]
	if !there {
		c = make(chan struct{})
		if b.waiting == nil {
			b.waiting = make(map[int64]chan struct{})
		}
		b.waiting[workspace] = c
	}
	return c
}

// Ring wakes those who wait for the workspace.
func (b *Bell) Ring(workspace int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c, there := b.waiting[workspace]; there {
		delete(b.waiting, workspace)
		close(c)
	}
}

// RingAll wakes all.
func (b *Bell) RingAll() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.waiting {
		close(c)
	}
	clear(b.waiting)
}
