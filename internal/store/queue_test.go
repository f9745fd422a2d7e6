package store

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/petstore/internal/petstore"
)

// A groupDB is a DB whose groups are carried out by a function.
type groupDB struct {
	DB
	group func(*Group) error
}

func (db groupDB) Group(_ context.Context, g *Group) error {
	g.begin()
	return db.group(g)
}

func newGroups(group func(*Group) error) *Store {
	return New(groupDB{group: group}, Dialect{}, OpenOptions{Now: time.Now}, nil)
}

// TestGroups: changes are taken in the order of their coming, and what is withdrawn is left out.
func TestGroups(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var groups [][]int64
		refused := errors.New("refused")
		s := newGroups(func(g *Group) error {
			var got []int64
			for i := range g.changes {
				got = append(got, g.changes[i].Workspace)
				g.changes[i].err = refused
			}
			groups = append(groups, got)
			return nil
		})
		withdrawn, withdraw := context.WithCancel(t.Context())
		var callers sync.WaitGroup
		for n := range int64(10) {
			ctx, want := t.Context(), refused
			if n == 0 || n == 3 {
				ctx, want = withdrawn, context.Canceled
			}
			callers.Go(func() {
				if _, err := s.Do(ctx, &petstore.Change{Workspace: n}); !errors.Is(err, want) {
					t.Errorf("Do of change %d = %v, want %v", n, err, want)
				}
			})
			synctest.Wait() // in this order
		}
		if got := s.Waiting(); got != 10 {
			t.Errorf("%d changes wait, want 10", got)
		}
		withdraw()
		synctest.Wait()
		s.CommitChanges(1)
		callers.Wait()
		s.EndChanges()
		want := [][]int64{{1, 2, 4, 5, 6, 7, 8, 9}}
		if !slices.EqualFunc(groups, want, slices.Equal[[]int64]) {
			t.Errorf("groups = %v, want %v", groups, want)
		}
		if _, err := s.Do(t.Context(), &petstore.Change{}); !errors.Is(err, ErrClosed) {
			t.Errorf("Do after EndChanges = %v, want ErrClosed", err)
		}
	})
}

// TestMost: more than fit into one commit have several, of two committers.
func TestMost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		largest, all := 0, 0
		s := newGroups(func(g *Group) error {
			mu.Lock()
			defer mu.Unlock()
			largest, all = max(largest, len(g.changes)), all+len(g.changes)
			return nil
		})
		callers := 5*MaxGroup + 1
		for range callers {
			go func() {
				if _, err := s.Do(t.Context(), &petstore.Change{}); err != nil {
					t.Error(err)
				}
			}()
		}
		synctest.Wait()
		s.CommitChanges(2)
		synctest.Wait()
		s.EndChanges()
		if largest != MaxGroup || all != callers || s.Waiting() != 0 {
			t.Errorf("the largest of %d has %d, %d wait, want %d and %d and none", all, largest, s.Waiting(), callers, MaxGroup)
		}
	})
}

// TestPanics: what a change or the engine panics with is its caller's error, and the committer goes on.
func TestPanics(t *testing.T) {
	t.Parallel()
	groups := 0
	s := newGroups(func(g *Group) error {
		if groups++; groups == 2 {
			panic("out of range")
		}
		g.changes[0].err = guard(func() error { panic("out of range") })
		return nil
	})
	s.CommitChanges(1)
	defer s.EndChanges()
	for range 3 {
		_, err := s.Do(t.Context(), &petstore.Change{})
		if !errors.Is(err, ErrPanicked) || !strings.Contains(err.Error(), "out of range\n") || !strings.Contains(err.Error(), "queue_test.go") {
			t.Errorf("Do = %v, want what the change panicked with, and where", err)
		}
	}
}
