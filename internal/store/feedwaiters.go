package store

import "sync"

// FeedWaiters are the goroutines that wait for events, by workspace. The zero value has
// none.
type FeedWaiters struct {
	mu      sync.Mutex
	waiting map[int64]chan struct{}
}

// Written returns a channel that is closed by the next call of WakeReaders for the workspace, or of WakeAllReaders.
func (w *FeedWaiters) Written(workspace int64) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	c, there := w.waiting[workspace]
	if !there {
		c = make(chan struct{})
		if w.waiting == nil {
			w.waiting = make(map[int64]chan struct{})
		}
		w.waiting[workspace] = c
	}
	return c
}

// WakeReaders wakes those who wait for the workspace.
func (w *FeedWaiters) WakeReaders(workspace int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c, there := w.waiting[workspace]; there {
		delete(w.waiting, workspace)
		close(c)
	}
}

// WakeAllReaders wakes those who wait for any workspace.
func (w *FeedWaiters) WakeAllReaders() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.waiting {
		close(c)
	}
	clear(w.waiting)
}
