package store

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"

	"example.com/petstore/internal/petstore"
)

// MaxGroup is how many changes share one commit at most.
const MaxGroup = 256

// ErrClosed is why a closed database takes no changes.
var ErrClosed = errors.New("the database is closed")

// ErrPanicked is the error of a change that panicked.
var ErrPanicked = errors.New("the change panicked")

// guard returns what f returns. If f panics, that is ErrPanicked with what f panicked with,
// and where.
func guard(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%w: %v\n\n%s", ErrPanicked, v, debug.Stack())
		}
	}()
	return f()
}

// A change waits for a committer. Once it was taken, its outcome is the committer's until
// done is closed, and then the caller's.
type change struct {
	*petstore.Change                // nil for another write
	write            func(Tx) error // nil for a Change

	answer *petstore.Receipt
	err    error
	done   chan struct{}
}

// alone reports whether the change must not share a transaction: whether a category is
// in use has to be asked of the database, which does not know yet what the others of a
// group have decided.
func (c *change) alone() bool { return c.Change != nil && c.Needs.CategoryUse }

// A queue holds the changes that wait, in the order of their coming.
type queue struct {
	mu      sync.Mutex
	waits   []*change
	closed  bool
	changed sync.Cond // of mu: a change came, or no more will
}

// Do implements [petstore.Store].
//
// The changes that wait when a committer is free are carried out together, as a [Group].
// If the database refuses what one of them writes, all are tried again one by one. The error
// of a change that panics is ErrPanicked.
func (s *Store) Do(ctx context.Context, c *petstore.Change) (*petstore.Receipt, error) {
	w := &change{Change: c}
	err := s.carryOut(ctx, w)
	return w.answer, err
}

// Join carries out a write in the transaction of a group, behind its changes, for an engine
// with one connection that writes. An error of write is that of the whole group, which is
// then tried again one by one.
func (s *Store) Join(ctx context.Context, write func(Tx) error) error {
	return s.carryOut(ctx, &change{write: write})
}

// carryOut waits for the outcome of a change, or until the end of ctx withdraws it.
func (s *Store) carryOut(ctx context.Context, c *change) error {
	c.done = make(chan struct{})
	if err := s.queue.add(ctx, c); err != nil {
		return petstore.Unavailable(err)
	}
	select {
	case <-c.done:
	case <-ctx.Done():
		if s.queue.withdraw(c) {
			return petstore.Unavailable(ctx.Err())
		}
		<-c.done
	}
	return c.err
}

func (q *queue) add(ctx context.Context, c *change) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return ErrClosed
	}
	q.waits = append(q.waits, c)
	q.changed.Signal()
	return nil
}

// withdraw takes back a change unless a committer has it.
func (q *queue) withdraw(c *change) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.waits, c)
	if i >= 0 {
		q.waits = slices.Delete(q.waits, i, i+1)
	}
	return i >= 0
}

// EndChanges refuses further changes. Those that wait are still carried out.
func (s *Store) EndChanges() {
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	s.queue.closed = true
	s.queue.changed.Broadcast()
}

// Waiting returns how many changes wait for a committer.
func (s *Store) Waiting() int {
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	return len(s.queue.waits)
}

// CommitChanges is a committer of what [Store.Do] is asked for: it carries out one group
// after the other. It returns after EndChanges, when none waits any more.
func (s *Store) CommitChanges() {
	for s.queue.await() {
		// On one processor the first of many callers wakes the committer before
		// the others have come so far as to wait: let them.
		runtime.Gosched()
		if group := s.queue.take(); len(group) > 0 {
			s.commit(group)
		}
	}
}

// await waits for a change, and reports whether there is one. There is none at the end.
func (q *queue) await() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.waits) == 0 && !q.closed {
		q.changed.Wait()
	}
	return len(q.waits) > 0
}

// take returns the changes that share the next commit: none if another committer, or their
// callers, took them.
func (q *queue) take() []*change {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := min(len(q.waits), MaxGroup)
	if i := slices.IndexFunc(q.waits[:n], (*change).alone); i >= 0 {
		n = max(i, 1)
	}
	group := slices.Clone(q.waits[:n])
	q.waits = slices.Delete(q.waits, 0, n)
	return group
}

// commit carries out a group and answers it, one by one if the whole of it is refused
// because of one.
func (s *Store) commit(changes []*change) {
	g := s.group(changes)
	err := guard(func() error { return s.db.Group(context.Background(), g) })
	if err != nil && petstore.CodeOf(err) != petstore.CodeServiceUnavailable && len(changes) > 1 {
		s.split.Add(1)
		for i := range changes {
			s.commit(changes[i : i+1])
		}
		return
	}
	if err != nil {
		s.lost.Add(1)
	} else if len(g.changes) > 0 {
		s.groups.Add(1)
		s.writes.Add(int64(len(g.changes)))
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
	for _, w := range g.writes {
		w.err = err
		close(w.done)
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
	Waiting     int   // changes that wait for a commit now

	Readers     int // connections for reading that may be open
	IdleReaders int // those of them that nobody uses now
}

// ChangeStats counts the changes. The engine adds its connections.
func (s *Store) ChangeStats() Stats {
	return Stats{Groups: s.groups.Load(), Writes: s.writes.Load(), LostGroups: s.lost.Load(), SplitGroups: s.split.Load(), Waiting: s.Waiting()}
}
