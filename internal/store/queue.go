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

// alone reports whether the change must not share a transaction: whether a category is
// in use has to be asked of the database, which does not know yet what the others of a
// group have decided.
func (c *change) alone() bool { return c.Needs.CategoryUse }

// A queue holds the changes that wait, in the order of their coming.
type queue struct {
	waits  chan *change
	count  atomic.Int64
	taking sync.Mutex   // so that one committer takes all that wait
	mu     sync.RWMutex // waits is closed under it
	closed bool
}

// Do implements [petstore.Store].
//
// The changes that wait when a committer is free are carried out together, as a [Group].
// If the database refuses what one of them writes, all are tried again one by one. What a
// change panics with becomes its caller's.
func (s *Store) Do(ctx context.Context, c *petstore.Change) (*petstore.Receipt, error) {
	w := &change{Change: c, done: make(chan struct{})}
	if err := s.queue.add(ctx, w); err != nil {
		return nil, petstore.Unavailable(err)
	}
	select {
	case <-w.done:
	case <-ctx.Done():
		if w.taken.CompareAndSwap(false, true) {
			return nil, petstore.Unavailable(ctx.Err())
		}
		<-w.done
	}
	if w.panicked != nil {
		panic(w.panicked)
	}
	return w.answer, w.err
}

func (q *queue) add(ctx context.Context, c *change) error {
	q.mu.RLock()
	defer q.mu.RUnlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if q.closed {
		return ErrClosed
	}
	select {
	case q.waits <- c:
		q.count.Add(1) // it may be taken already
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// EndChanges refuses further changes. Those that wait are still carried out.
func (s *Store) EndChanges() {
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	if !s.queue.closed {
		s.queue.closed = true
		close(s.queue.waits)
	}
}

// Waiting returns how many changes wait for a committer.
func (s *Store) Waiting() int { return int(max(s.queue.count.Load(), 0)) }

// CommitChanges is a committer of what [Store.Do] is asked for: it carries out one group
// after the other. It returns after EndChanges, when none waits any more. It locks the writer,
// if there is one, before it takes a group, so that nobody waits who cannot withdraw.
func (s *Store) CommitChanges() {
	for next, group := (*change)(nil), []*change(nil); ; {
		first := next == nil
		if first {
			s.queue.taking.Lock()
			if next = <-s.queue.waits; next == nil { // closed
				s.queue.taking.Unlock()
				return
			}
			// On one processor the first of many callers wakes the committer before
			// the others have come so far as to wait: let them.
			runtime.Gosched()
		}
		if s.options.Writer != nil {
			s.options.Writer.Lock()
		}
		group, next = s.queue.take(next)
		if first {
			s.queue.taking.Unlock()
		}
		if len(group) > 0 {
			s.commit(group)
		}
		if s.options.Writer != nil {
			s.options.Writer.Unlock()
		}
	}
}

// take returns the changes that share a commit: c and those that wait, but for those
// withdrawn; and the one of the next group, if it has come to see that.
func (q *queue) take(c *change) (group []*change, next *change) {
	group = make([]*change, 0, min(len(q.waits)+1, MaxGroup))
	for c != nil {
		if c.alone() && len(group) > 0 {
			return group, c
		}
		q.count.Add(-1)
		if c.taken.CompareAndSwap(false, true) {
			if group = append(group, c); c.alone() || len(group) == MaxGroup {
				return group, nil
			}
		}
		select {
		case c = <-q.waits: // nil after the last
		default:
			return group, nil
		}
	}
	return group, nil
}

// commit carries out a group and answers it, one by one if the whole of it is refused
// because of one. What the engine panics with is the error of the group, and the caller's
// if there is one change alone.
func (s *Store) commit(changes []*change) {
	g := s.group(changes)
	panicked, err := Guard(func() error { return s.db.Group(context.Background(), g) })
	if err != nil && petstore.CodeOf(err) != petstore.CodeServiceUnavailable && len(changes) > 1 {
		s.split.Add(1)
		for i := range changes {
			s.commit(changes[i : i+1])
		}
		return
	}
	if panicked != nil {
		changes[0].panicked = panicked
	}
	if err != nil {
		s.lost.Add(1)
	} else {
		s.groups.Add(1)
		s.writes.Add(int64(len(changes)))
	}
	for i := range g.changes {
		m := &g.changes[i]
		switch {
		case err != nil: // what the refused ones were refused for may not have happened either
			m.err = err
		case m.before != nil:
			m.answer = m.before
		case m.first != nil:
			m.answer = m.first.receipt
		}
		close(m.done)
	}
	if err == nil {
		g.notify()
	}
}

// Stats are numbers for metrics, counted since the start.
type Stats struct {
	Groups      int64 // commits that were carried out
	Writes      int64 // writes in them, refused ones included
	LostGroups  int64 // groups that were answered with an error
	SplitGroups int64 // groups that were tried again one by one
}

// ChangeStats counts the groups of changes.
func (s *Store) ChangeStats() Stats {
	return Stats{s.groups.Load(), s.writes.Load(), s.lost.Load(), s.split.Load()}
}
