package sqlite

import (
	"fmt"
	"sync"
	"sync/atomic"

	"example.com/petstore/internal/store"
)

// A fault is what ended the database, if anything did.
type fault struct {
	cause  atomic.Pointer[error] // store.ErrClosed after Close
	once   sync.Once
	failed chan struct{}
}

func (f *fault) close() { f.cause.CompareAndSwap(nil, &[]error{store.ErrClosed}[0]) }

// err returns why no call can be served any more, or nil.
func (f *fault) err() error {
	if p := f.cause.Load(); p != nil {
		return *p
	}
	return nil
}

// A watcher knows whether the database can be written, and what became of its files.
type watcher struct {
	lock       *fileLock // held while the process serves; nil otherwise
	files      *fileWatch
	unwritable atomic.Pointer[error] // why the last commit failed; nil if it did not
	stop       chan struct{}
	running    sync.WaitGroup
}

// note takes the outcome of a commit.
func (w *watcher) note(err error) {
	switch {
	case err != nil:
		w.unwritable.Store(&err)
	case w.unwritable.Load() != nil:
		w.unwritable.Store(nil)
	}
}

func (w *watcher) err() error {
	if p := w.unwritable.Load(); p != nil {
		return fmt.Errorf("nothing can be written: %w", *p)
	}
	return nil
}

func (w *watcher) close() {
	close(w.stop)
	w.running.Wait()
}
