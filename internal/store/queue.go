package store

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"

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

// A change waits for a committer. Once one has received it, its outcome is the committer's until
// done is closed, and then the caller's.
type change struct {
	*petstore.Change                // nil for another write
	write            func(Tx) error // nil for a Change

	workspace *groupedWorkspace // of the group that it is in
	receipt   *storedReceipt    // what is kept under the idempotency key

	answer *petstore.Receipt
	err    error
	done   chan struct{}
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

// carryOut waits for the outcome of a change. The end of ctx withdraws it unless a committer has
// received it.
func (s *Store) carryOut(ctx context.Context, c *change) error {
	c.done = make(chan struct{})
	if err := s.send(ctx, c); err != nil {
		return petstore.Unavailable(err)
	}
	<-c.done
	return c.err
}

// send waits for a committer to receive the change. They receive in the order of sending.
func (s *Store) send(ctx context.Context, c *change) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.waiting.Add(1)
	defer s.waiting.Add(-1)
	select {
	case s.changes <- c:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-s.ended:
		return ErrClosed
	}
}

// Waiting returns how many changes wait for a committer.
func (s *Store) Waiting() int { return int(s.waiting.Load()) }

// CommitChanges starts committers of what [Store.Do] is asked for. Each carries out one group
// after the other until EndChanges.
func (s *Store) CommitChanges(committers int) {
	for range committers {
		s.committers.Go(func() {
			for {
				select {
				case c := <-s.changes:
					s.commit(s.gather(c), false)
				case <-s.ended:
					return
				}
			}
		})
	}
}

// EndChanges refuses further changes and those that no committer has received, and waits for
// the others.
func (s *Store) EndChanges() {
	close(s.ended)
	s.committers.Wait()
}

// gather returns the group of a change and those that wait.
func (s *Store) gather(first *change) []*change {
	group := []*change{first}
	// On one processor the first of many callers wakes the committer before
	// the others have come so far as to wait: let them.
	runtime.Gosched()
	for len(group) < MaxGroup {
		select {
		case c := <-s.changes:
			group = append(group, c)
		default:
			return group
		}
	}
	return group
}

// commit carries out a group and answers it, one by one if the whole of it is refused
// because of one. Unless it is patient, it leaves the changes of workspaces that are aside to
// others.
func (s *Store) commit(changes []*change, patient bool) {
	if !patient {
		changes = s.putAside(changes)
	}
	if len(changes) == 0 {
		return
	}
	g := s.group(changes)
	g.Patient = patient
	err := guard(func() error { return s.db.Group(context.Background(), g) })
	switch {
	case errors.Is(err, ErrLocked):
		s.commit(changes, !s.setAside(g))
	case err != nil && petstore.CodeOf(err) != petstore.CodeServiceUnavailable && len(changes) > 1:
		s.split.Add(1)
		for i := range changes {
			s.commit(changes[i:i+1], patient)
		}
	default:
		s.answer(g, err)
	}
}

// answer tells all of a group what became of it.
func (s *Store) answer(g *Group, err error) {
	if err != nil {
		s.lost.Add(1)
	} else if len(g.changes) > 0 {
		s.groups.Add(1)
		s.writes.Add(int64(len(g.changes)))
	}
	for _, c := range g.changes {
		if err != nil { // what the refused ones were refused for may not have happened either
			c.answer, c.err = nil, err
		}
		close(c.done)
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
	Retries     int64 // transactions that the engine tried again
	Waiting     int   // changes that wait for a commit now

	Readers     int // connections for reading that may be open
	IdleReaders int // those of them that nobody uses now
}

// ChangeStats counts the changes. The engine adds its connections.
func (s *Store) ChangeStats() Stats {
	return Stats{Groups: s.groups.Load(), Writes: s.writes.Load(), LostGroups: s.lost.Load(), SplitGroups: s.split.Load(), Waiting: s.Waiting()}
}
