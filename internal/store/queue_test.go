package store

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestGroups(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue(func(n int) bool { return n == 7 })
		ctx, withdraw := context.WithCancel(t.Context())
		var callers sync.WaitGroup
		errWithdrawn := make(chan error, 1)
		for n := range 10 {
			callers.Go(func() {
				if n == 3 {
					_, err := q.Do(ctx, n)
					errWithdrawn <- err
					return
				}
				if w, err := q.Do(t.Context(), n); err != nil || w.Job != 10*n || w.Err != nil {
					t.Errorf("Do(%d) = %+v, %v, want %d", n, w, err, 10*n)
				}
			})
			synctest.Wait() // in this order
		}
		withdraw()
		if err := <-errWithdrawn; !errors.Is(err, context.Canceled) {
			t.Errorf("Do that was withdrawn = %v", err)
		}
		var groups [][]int
		go q.Run(func(group []*Write[int]) {
			var jobs []int
			for _, w := range group {
				jobs = append(jobs, w.Job)
				w.Job *= 10
				w.Answer()
			}
			groups = append(groups, jobs)
		}, nil, nil)
		callers.Wait()
		q.Close()
		synctest.Wait()
		if len(groups) != 3 || len(groups[0]) != 6 || len(groups[1]) != 1 || groups[1][0] != 7 || len(groups[2]) != 2 {
			t.Errorf("groups = %v, want 7 alone and 3 left out", groups)
		}
		if _, err := q.Do(t.Context(), 1); !errors.Is(err, ErrClosed) {
			t.Errorf("Do after Close = %v, want ErrClosed", err)
		}
	})
}

// TestMost: more than fit into one commit have several, and two committers end.
func TestMost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue[int](nil)
		for n := range 2*MaxGroup + 1 {
			go func() { _, _ = q.Do(t.Context(), n) }()
		}
		synctest.Wait()
		var mu sync.Mutex
		largest, all := 0, 0
		for range 2 {
			go q.Run(func(group []*Write[int]) {
				mu.Lock()
				defer mu.Unlock()
				largest, all = max(largest, len(group)), all+len(group)
				for _, w := range group {
					w.Answer()
				}
			}, nil, nil)
		}
		synctest.Wait()
		if largest != MaxGroup || all != 2*MaxGroup+1 || q.Len() != 0 {
			t.Errorf("the largest of %d has %d, %d wait, want %d and %d and none", all, largest, q.Len(), 2*MaxGroup+1, MaxGroup)
		}
		q.Close()
	})
}

func TestPanics(t *testing.T) {
	t.Parallel()
	q := NewQueue[func()](nil)
	go q.Run(func(group []*Write[func()]) {
		for _, w := range group {
			w.Guard(func() error {
				w.Job()
				return nil
			})
			w.Answer()
		}
	}, nil, nil)
	defer q.Close()
	defer func() {
		if v, _ := recover().(string); !strings.HasPrefix(v, "out of range\n") || !strings.Contains(v, "queue_test.go") {
			t.Errorf("recovered %q, want what the job panicked with, and where", v)
		}
	}()
	_, _ = q.Do(t.Context(), func() { panic("out of range") })
	t.Error("Do returned")
}

func TestIdle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue[int](nil)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		ticks := 0
		go q.Run(nil, tick.C, func() { ticks++ })
		time.Sleep(3*time.Second + time.Millisecond)
		q.Close()
		synctest.Wait()
		if ticks != 3 {
			t.Errorf("%d ticks in three seconds", ticks)
		}
	})
}

func TestCounter(t *testing.T) {
	t.Parallel()
	var c Counter
	for _, n := range []int{1, 3, 300} {
		c.Add(n, nil)
	}
	c.Add(5, errors.New("the disk is full"))
	s := c.Stats()
	if s.Groups != 3 || s.Writes != 304 || s.LostGroups != 1 || s.LargestGroup != 300 || s.Sizes[1] != 1 || s.Sizes[4] != 2 || s.Sizes[256] != 2 || s.Sizes[512] != 3 {
		t.Errorf("Stats = %+v", s)
	}
}
