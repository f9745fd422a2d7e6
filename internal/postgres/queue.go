package postgres

import (
	"sync"
	"sync/atomic"

	"example.com/petstore/internal/petstore"
)

// maxGroup is the most changes that share one commit.
const maxGroup = 256

// A write is a change that waits for a committer.
type write struct {
	change   *petstore.Change
	taken    atomic.Bool // by a committer, or by a caller who withdraws it
	done     chan struct{}
	receipt  *petstore.Receipt // these three are valid when done is closed
	err      error
	panicked any // what Decide panicked with
}

// alone reports whether the change must not share a transaction: whether a
// category is in use has to be asked of the database, which does not know yet
// what the others of a group have decided.
func (w *write) alone() bool { return w.change.Needs.CategoryUse }

// A queue holds the writes that wait, in the order of their coming.
type queue struct {
	mu     sync.Mutex
	filled sync.Cond
	waits  []*write
	closed bool
}

func (q *queue) init() { q.filled.L = &q.mu }

// add reports false if the queue is closed.
func (q *queue) add(w *write) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	q.waits = append(q.waits, w)
	q.filled.Signal()
	return true
}

func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.filled.Broadcast()
}

// take waits for writes and moves the next ones to group, leaving out those
// withdrawn. It returns none when the queue is closed and empty.
func (q *queue) take(group []*write) []*write {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		group = q.next(group)
		if len(group) > 0 || q.closed {
			return group
		}
		q.filled.Wait()
	}
}

// next is take without waiting.
func (q *queue) next(group []*write) []*write {
	n := 0
	for n < len(q.waits) && len(group) < maxGroup {
		w := q.waits[n]
		if w.alone() && len(group) > 0 {
			break
		}
		n++
		if w.taken.CompareAndSwap(false, true) {
			group = append(group, w)
			if w.alone() {
				break
			}
		}
	}
	rest := copy(q.waits, q.waits[n:])
	clear(q.waits[rest:])
	q.waits = q.waits[:rest]
	if rest > 0 {
		q.filled.Signal() // for the other committer
	}
	return group
}

func (q *queue) len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waits)
}
