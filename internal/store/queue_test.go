package store

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"example.com/petstore/internal/petstore"
)

// A turn is a lock that a test can wait for.
type turn chan struct{}

func (t turn) Lock()   { t <- struct{}{} }
func (t turn) Unlock() { <-t }

// TestGroups: changes are taken in the order of their coming, one that must be alone has a
// group of its own, and what is withdrawn is left out, even if the writer is locked.
func TestGroups(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q, writer := newQueue(), make(turn, 1)
		writer.Lock()
		var groups [][]int64
		go q.run(writer, func(group []*change) {
			var got []int64
			for _, c := range group {
				got = append(got, c.Workspace)
				c.err = errors.New("refused")
				close(c.done)
			}
			groups = append(groups, got)
		})
		ctx, withdraw := context.WithCancel(t.Context())
		errWithdrawn := make(chan error, 1)
		var callers sync.WaitGroup
		for n := range int64(10) {
			c := newChange(&petstore.Change{Workspace: n, Needs: petstore.Needs{CategoryUse: n == 7}})
			if n == 3 {
				go func() { errWithdrawn <- q.do(ctx, c) }()
			} else {
				callers.Go(func() {
					if err := q.do(t.Context(), c); err != nil || c.err == nil {
						t.Errorf("do = %v, %v, want that it was refused", err, c.err)
					}
				})
			}
			synctest.Wait() // in this order
		}
		withdraw()
		if err := <-errWithdrawn; !errors.Is(err, context.Canceled) {
			t.Errorf("do that was withdrawn = %v", err)
		}
		writer.Unlock()
		callers.Wait()
		q.close()
		synctest.Wait()
		want := [][]int64{{0, 1, 2, 4, 5, 6}, {7}, {8, 9}}
		if !slices.EqualFunc(groups, want, slices.Equal[[]int64]) {
			t.Errorf("groups = %v, want %v", groups, want)
		}
		if err := q.do(t.Context(), newChange(&petstore.Change{})); !errors.Is(err, ErrClosed) {
			t.Errorf("do after close = %v, want ErrClosed", err)
		}
	})
}

// TestMost: more than fit into one commit have several, and two committers end.
func TestMost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newQueue()
		for range 2*MaxGroup + 1 {
			go func() { _ = q.do(t.Context(), newChange(&petstore.Change{})) }()
		}
		synctest.Wait()
		var mu sync.Mutex
		largest, all := 0, 0
		for range 2 {
			go q.run(nil, func(group []*change) {
				mu.Lock()
				defer mu.Unlock()
				largest, all = max(largest, len(group)), all+len(group)
				for _, c := range group {
					close(c.done)
				}
			})
		}
		synctest.Wait()
		if largest != MaxGroup || all != 2*MaxGroup+1 || q.len() != 0 {
			t.Errorf("the largest of %d has %d, %d wait, want %d and %d and none", all, largest, q.len(), 2*MaxGroup+1, MaxGroup)
		}
		q.close()
	})
}

func TestPanics(t *testing.T) {
	t.Parallel()
	q := newQueue()
	go q.run(nil, func(group []*change) {
		for _, c := range group {
			c.guard(func() error { panic("out of range") })
			close(c.done)
		}
	})
	defer q.close()
	defer func() {
		if v, _ := recover().(string); !strings.HasPrefix(v, "out of range\n") || !strings.Contains(v, "queue_test.go") {
			t.Errorf("recovered %q, want what the change panicked with, and where", v)
		}
	}()
	_ = q.do(t.Context(), newChange(&petstore.Change{}))
	t.Error("do returned")
}

func TestCounter(t *testing.T) {
	t.Parallel()
	var c Counter
	for _, n := range []int{1, 3, 300} {
		c.Add(n, nil)
	}
	c.Add(5, errors.New("the disk is full"))
	s := c.Stats()
	if s.Groups != 3 || s.Writes != 304 || s.LostGroups != 1 || s.Sizes[1] != 1 || s.Sizes[4] != 2 || s.Sizes[256] != 2 || s.Sizes[512] != 3 {
		t.Errorf("Stats = %+v", s)
	}
}
