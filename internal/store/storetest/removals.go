package storetest

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/ratelimit"
	"example.com/petstore/internal/usage"
)

var removalTests = map[string]func(*testing.T, Open){
	"reset beside others":   testResetBeside,
	"reset broken off":      testResetBrokenOff,
	"deletion broken off":   testDeletionBrokenOff,
	"saved before deletion": testSavedBeforeDeletion,
}

// herd gives a workspace so many pets.
func (s *tenant) herd(pets int) {
	s.Helper()
	for range pets / 1000 {
		s.load(&petstore.Batch{Units: newPets(1000)})
	}
}

// isResetting reports whether a workspace is being reset.
func (s *tenant) isResetting() bool {
	s.Helper()
	w, err := s.Workspace(s.ctx, s.name)
	must(s, err)
	return w.Resetting
}

// await polls until done returns true.
func (s *tenant) await(what string, done func() bool) {
	s.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			s.Fatalf("%s: not within a minute", what)
		}
	}
}

// testResetBeside: while ten thousand pets are removed, other workspaces are
// written to again and again, and the workspace itself is closed.
func testResetBeside(t *testing.T, open Open) {
	s := newTenant(t, open)
	other := s.beside("other")
	s.herd(10_000)
	var ended atomic.Bool
	reset := make(chan error, 1)
	go func() {
		err := s.ResetWorkspace(s.ctx, s.workspace, "cli")
		ended.Store(true)
		reset <- err
	}()
	s.await("the reset begins", s.isResetting)
	_, err := s.CreateCategory(s.ctx, s.workspace, petstore.NewCategory{Name: "late"}, nil)
	wantCode(t, "CreateCategory while the workspace is reset", err, petstore.CodeServiceUnavailable)
	_, err = s.Load(s.ctx, s.workspace, &petstore.Batch{Units: checked(newPets(1))})
	wantCode(t, "Load while the workspace is reset", err, petstore.CodeServiceUnavailable)
	wantCode(t, "Dump while the workspace is reset", s.Dump(s.ctx, s.workspace, new(keeper)), petstore.CodeServiceUnavailable)
	if all, err := s.Workspaces(s.ctx); err != nil || !all[0].Resetting && !all[1].Resetting {
		t.Errorf("Workspaces = %+v, %v, want that one is resetting", all, err)
	}
	written := 0
	for ; !ended.Load(); written++ {
		if _, err := other.CreateCategory(s.ctx, other.workspace, petstore.NewCategory{Name: "Dogs"}, nil); err != nil {
			t.Fatalf("CreateCategory in another workspace: %v", err)
		}
	}
	wantCode(t, "ResetWorkspace", <-reset, "")
	if written < 20 { // of the steps, some two hundred
		t.Errorf("%d categories of another workspace were made meanwhile, want 20 at least", written)
	}
	s.wantEmpty()
	if s.isResetting() {
		t.Error("the workspace is still resetting")
	}
	if id := s.category("Cats"); id <= 10 {
		t.Errorf("the next category has the id %d, want one above 10: each thousand of pets had one", id)
	}
}

// breakOff calls remove and ends its context when that has begun.
func (s *tenant) breakOff(remove func(context.Context) error, begun func() bool) {
	s.Helper()
	s.herd(10_000)
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	removed := make(chan error, 1)
	go func() { removed <- remove(ctx) }()
	s.await("the removal begins", begun)
	cancel()
	wantCode(s.T, "the removal broken off", <-removed, petstore.CodeServiceUnavailable)
	problems, err := s.Check(s.ctx)
	if err != nil || len(problems) != 1 || !strings.Contains(problems[0], "is being reset or deleted") {
		s.Errorf("Check = %q, %v, want that rows are being removed", problems, err)
	}
}

func (s *tenant) resume() {
	s.Helper()
	for range 2 { // and nothing more to do
		wantCode(s.T, "Resume", s.Resume(s.ctx), "")
	}
	s.wantEmpty()
	if problems, err := s.Check(s.ctx); err != nil || len(problems) > 0 {
		s.Errorf("Check = %q, %v, want nothing", problems, err)
	}
}

func testResetBrokenOff(t *testing.T, open Open) {
	s := newTenant(t, open)
	s.breakOff(func(ctx context.Context) error { return s.ResetWorkspace(ctx, s.workspace, "cli") }, s.isResetting)
	if !s.isResetting() {
		t.Error("the workspace is not resetting")
	}
	s.resume()
	s.category("Dogs")
}

func testDeletionBrokenOff(t *testing.T, open Open) {
	s := newTenant(t, open)
	k := s.key("k", time.Time{})
	s.breakOff(func(ctx context.Context) error { return s.DeleteWorkspace(ctx, s.workspace, "cli") }, func() bool {
		_, err := s.Workspace(s.ctx, s.name)
		return petstore.CodeOf(err) == access.CodeWorkspaceNotFound
	})
	_, err := s.Key(s.ctx, k.ID)
	wantCode(t, "Key", err, access.CodeKeyNotFound)
	s.resume()
}

// testSavedBeforeDeletion: what servers saved of a workspace goes with it.
func testSavedBeforeDeletion(t *testing.T, open Open) {
	s := newTenant(t, open)
	counts := s.Stores.(usage.Store) //nolint:forcetypeassert // every store is one
	window := ratelimit.SavedWindow{Subject: fmt.Sprintf("w:%d", s.workspace), Day: s.clock.Now().Unix() / 86400, DayUsed: 1}
	wantCode(t, "SaveLimits", s.SaveLimits(s.ctx, []ratelimit.SavedWindow{window}), "")
	addUsage(t, counts, usageRow(s.workspace, usage.Minute, 600, 1))
	wantCode(t, "DeleteWorkspace", s.DeleteWorkspace(s.ctx, s.workspace, "cli"), "")
	saved, err1 := s.LoadLimits(s.ctx)
	used, err2 := counts.Usage(s.ctx, s.workspace, usage.Minute, 0, 1000)
	if len(saved) > 0 || len(used) > 0 || err1 != nil || err2 != nil {
		t.Errorf("after the deletion there are %+v and %+v (%v, %v), want none", saved, used, err1, err2)
	}
}
