package store

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"example.com/petstore/internal/petstore"
)

// MaxGroup is how many changes share one commit at most.
const MaxGroup = 256

// ErrClosed is the error of changes in a closed database.
var ErrClosed = errors.New("the database is closed")

// ErrPanicked is the error of a change that panicked.
var ErrPanicked = errors.New("the change panicked")

// A change waits for a committer, which alone may use its outcome until it closes done.
// From then on the caller may.
type change struct {
	*petstore.Change

	answer   *petstore.Receipt
	err      error
	panicked any
	taken    atomic.Bool // set by the committer that takes it, or by the caller to withdraw it
	done     chan struct{}
}

func newChange(c *petstore.Change) *change { return &change{Change: c, done: make(chan struct{})} }

// guard sets err to the result of f. If f panics, it sets panicked for the caller.
func (c *change) guard(f func() error) { c.panicked, c.err = Guard(f) }

// Guard returns the error of f. If f panics, it returns ErrPanicked, and a text with the
// panic and its stack, with which another goroutine can panic.
func Guard(f func() error) (panicked any, err error) {
	defer func() {
		if v := recover(); v != nil {
			panicked, err = fmt.Sprintf("%v\n\n%s", v, debug.Stack()), ErrPanicked
		}
	}()
	return nil, f()
}

// alone reports whether the change must not share a transaction: whether a category is
// in use has to be asked of the database, which does not know yet what the others of a
// group have decided.
func (c *change) alone() bool { return c.Needs.CategoryUse }

// A queue holds the changes that wait, in the order in which they came.
type queue struct {
	mu      sync.Mutex
	waiting []*change
	closed  bool
	wake    chan struct{} // holds a token while there may be something to do
}

func newQueue() *queue { return &queue{wake: make(chan struct{}, 1)} }

// do waits until a change was carried out. If ctx ends before a committer takes the
// change, or if the queue is closed, it returns why the change was not carried out. If
// the change panicked, do panics.
func (q *queue) do(ctx context.Context, c *change) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !q.add(c) {
		return ErrClosed
	}
	select {
	case <-c.done:
	case <-ctx.Done():
		if c.taken.CompareAndSwap(false, true) {
			return ctx.Err()
		}
		<-c.done
	}
	if c.panicked != nil {
		panic(c.panicked)
	}
	return nil
}

func (q *queue) add(c *change) bool {
	q.mu.Lock()
	ok := !q.closed
	if ok {
		q.waiting = append(q.waiting, c)
	}
	q.mu.Unlock()
	q.nudge()
	return ok
}

func (q *queue) nudge() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// close refuses further changes. Those that wait are still carried out.
func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.nudge()
}

// len returns how many changes wait.
func (q *queue) len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting)
}

// run is a committer: it calls commit with one group after the other, and returns when the
// queue is closed and empty. It locks the writer, if there is one, before it takes a group,
// so that changes can be withdrawn until then.
func (q *queue) run(writer sync.Locker, commit func([]*change)) {
	group := make([]*change, 0, MaxGroup)
	for open := true; open; {
		<-q.wake
		// On one processor the first of many callers wakes the committer before
		// the others have queued their changes: let them run.
		runtime.Gosched()
		if writer != nil {
			writer.Lock()
		}
		if group, open = q.take(group[:0]); len(group) > 0 {
			commit(group)
		}
		if writer != nil {
			writer.Unlock()
		}
		clear(group)
	}
	q.nudge() // other committers end, too
}

// take moves the next changes to group, leaving out those withdrawn, and reports
// whether more may come.
func (q *queue) take(group []*change) (_ []*change, open bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := 0
	for n < len(q.waiting) && len(group) < MaxGroup {
		c := q.waiting[n]
		if c.alone() && len(group) > 0 {
			break
		}
		n++
		if !c.taken.CompareAndSwap(false, true) {
			continue
		}
		if group = append(group, c); c.alone() {
			break
		}
	}
	rest := copy(q.waiting, q.waiting[n:])
	clear(q.waiting[rest:])
	q.waiting = q.waiting[:rest]
	if rest > 0 {
		q.nudge() // other committers, or this one again
	}
	return group, !q.closed || rest > 0
}
