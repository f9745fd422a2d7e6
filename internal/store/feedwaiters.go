package store

import "sync"

// FeedWaiters are the goroutines that wait for events, by workspace. The zero value has
// none.
type FeedWaiters struct{ waiting sync.Map } // the workspaces with a chan struct{} of each

// Written returns a channel that is closed by the next call of WakeReaders for the workspace, or of WakeAllReaders.
func (w *FeedWaiters) Written(workspace int64) <-chan struct{} {
	c, _ := w.waiting.LoadOrStore(workspace, make(chan struct{}))
	return c.(chan struct{}) //nolint:forcetypeassert // it has no others
}

// WakeReaders wakes those who wait for the workspace.
func (w *FeedWaiters) WakeReaders(workspace int64) {
	if c, there := w.waiting.LoadAndDelete(workspace); there {
		close(c.(chan struct{})) //nolint:forcetypeassert // it has no others
	}
}

// WakeAllReaders wakes those who wait for any workspace.
func (w *FeedWaiters) WakeAllReaders() {
	w.waiting.Range(func(workspace, _ any) bool {
		w.WakeReaders(workspace.(int64)) //nolint:forcetypeassert // it has no others
		return true
	})
}
