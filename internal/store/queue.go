package store

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// MaxGroup is how many writes share one commit at most.
const MaxGroup = 256

// ErrClosed is why a closed queue takes no writes.
var ErrClosed = errors.New("the database is closed")

// ErrPanicked is the error of a job that panicked.
var ErrPanicked = errors.New("the change panicked")

// A Write waits for a committer. Its job and its error are the committer's until
// Answer, and then the caller's.
type Write[T any] struct {
	Job T
	Err error

	taken    atomic.Bool // by a committer, or by a caller who withdraws it
	done     chan struct{}
	panicked any
}

// NewWrite returns a write that waits in no queue.
func NewWrite[T any](job T) *Write[T] { return &Write[T]{Job: job, done: make(chan struct{})} }

// Guard sets Err to what f returns. What f panics with is kept for the caller.
func (w *Write[T]) Guard(f func() error) {
	defer func() {
		if v := recover(); v != nil {
			w.panicked = panicText(v)
			w.Err = ErrPanicked
		}
	}()
	w.Err = f()
}

// panicText returns what a goroutine panicked with and where it is.
func panicText(v any) string { return fmt.Sprintf("%v\n\n%s", v, debug.Stack()) }

// Reset forgets the outcome of an earlier try.
func (w *Write[T]) Reset() { w.Err, w.panicked = nil, nil }

// Answer lets the caller go on.
func (w *Write[T]) Answer() { close(w.done) }

// A Queue holds the writes that wait, in the order of their coming.
type Queue[T any] struct {
	alone func(T) bool

	mu     sync.Mutex
	waits  []*Write[T]
	closed bool
	wake   chan struct{} // holds a token while there may be something to do
}

// NewQueue returns an empty queue. A job for which alone returns true has a group
// of its own; a nil alone is true of none.
func NewQueue[T any](alone func(T) bool) *Queue[T] {
	if alone == nil {
		alone = func(T) bool { return false }
	}
	return &Queue[T]{alone: alone, wake: make(chan struct{}, 1)}
}

// Do returns the write with its outcome. While it waits, the end of ctx withdraws
// it: then, and if the queue is closed, Do returns why it was not carried out. What
// the job panicked with becomes the caller's.
func (q *Queue[T]) Do(ctx context.Context, job T) (*Write[T], error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	w := NewWrite(job)
	if !q.add(w) {
		return nil, ErrClosed
	}
	select {
	case <-w.done:
	case <-ctx.Done():
		if w.taken.CompareAndSwap(false, true) {
			return nil, ctx.Err()
		}
		<-w.done
	}
	if w.panicked != nil {
		panic(w.panicked)
	}
	return w, nil
}

func (q *Queue[T]) add(w *Write[T]) bool {
	q.mu.Lock()
	ok := !q.closed
	if ok {
		q.waits = append(q.waits, w)
	}
	q.mu.Unlock()
	q.nudge()
	return ok
}

func (q *Queue[T]) nudge() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// Close refuses further writes. Those that wait are still carried out.
func (q *Queue[T]) Close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.nudge()
}

// Len returns how many writes wait.
func (q *Queue[T]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waits)
}

// Run is a committer: it calls commit with one group after the other, and returns
// when the queue is closed and empty. It calls idle at each tick at which nothing
// waits; tick may be nil.
func (q *Queue[T]) Run(commit func([]*Write[T]), tick <-chan time.Time, idle func()) {
	group := make([]*Write[T], 0, MaxGroup)
	for open := true; open; {
		// On one processor the first of many callers wakes the committer before
		// the others have come so far as to wait: let them.
		runtime.Gosched()
		group, open = q.take(group[:0])
		switch {
		case len(group) > 0:
			commit(group)
			clear(group)
		case open:
			select {
			case <-q.wake:
			case <-tick:
				idle()
			}
		}
	}
	q.nudge() // other committers end, too
}

// take moves the next writes to group, leaving out those withdrawn, and reports
// whether more may come.
func (q *Queue[T]) take(group []*Write[T]) (_ []*Write[T], open bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := 0
	for n < len(q.waits) && len(group) < MaxGroup {
		w := q.waits[n]
		alone := q.alone(w.Job)
		if alone && len(group) > 0 {
			break
		}
		n++
		if !w.taken.CompareAndSwap(false, true) {
			continue
		}
		if group = append(group, w); alone {
			break
		}
	}
	rest := copy(q.waits, q.waits[n:])
	clear(q.waits[rest:])
	q.waits = q.waits[:rest]
	if rest > 0 {
		q.nudge() // other committers
	}
	return group, !q.closed || rest > 0 || len(group) > 0
}
