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

// ErrClosed is why a closed database takes no changes.
var ErrClosed = errors.New("the database is closed")

// ErrPanicked is the error of a change that panicked.
var ErrPanicked = errors.New("the change panicked")

// A change waits for a committer. Its outcome is the committer's until done is closed, and
// then the caller's.
type change struct {
	*petstore.Change

	answer   *petstore.Receipt
	err      error
	panicked any
	taken    atomic.Bool // by a committer, or by a caller who withdraws it
	done     chan struct{}
}

func newChange(c *petstore.Change) *change { return &change{Change: c, done: make(chan struct{})} }

// guard sets err to what f returns. What f panics with is kept for the caller.
func (c *change) guard(f func() error) { c.panicked, c.err = Guard(f) }

// Guard returns what f returns. If f panics, it returns ErrPanicked, and for somebody else
// to panic with, what f did, and where.
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

// A queue holds the changes that wait, in the order of their coming.
type queue struct {
	mu     sync.Mutex
	waits  []*change
	closed bool
	wake   chan struct{} // holds a token while there may be something to do
}

func newQueue() *queue { return &queue{wake: make(chan struct{}, 1)} }

// do returns after a change was carried out. While it waits, the end of ctx withdraws
// it: then, and if the queue is closed, do returns why it was not carried out. What
// the change panicked with becomes the caller's.
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
		q.waits = append(q.waits, c)
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
	return len(q.waits)
}

// run is a committer: it calls commit with one group after the other, and returns
// when the queue is closed and empty. It locks the writer, if there is one, before it takes
// a group, so that nobody waits who cannot withdraw.
func (q *queue) run(writer sync.Locker, commit func([]*change)) {
	group := make([]*change, 0, MaxGroup)
	for open := true; open; {
		<-q.wake
		// On one processor the first of many callers wakes the committer before
		// the others have come so far as to wait: let them.
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
	for n < len(q.waits) && len(group) < MaxGroup {
		c := q.waits[n]
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
	rest := copy(q.waits, q.waits[n:])
	clear(q.waits[rest:])
	q.waits = q.waits[:rest]
	if rest > 0 {
		q.nudge() // other committers, or this one again
	}
	return group, !q.closed || rest > 0
}
