package storetest

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/processtest"
	"example.com/petstore/internal/ratelimit"
	"example.com/petstore/internal/usage"
)

var removalTests = map[string]func(*tenant){
	"reset": testReset, "broken off": testBrokenOff, "late for a deletion": testLateForDeletion,
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

// testReset: while thousands of pets are removed, other workspaces are written to, and the
// workspace itself is closed. It keeps its keys.
func testReset(s *tenant) {
	other := s.beside("other")
	k, kept := s.key("k", time.Time{}), other.pet(5)
	s.herd(4000)
	s.load(&petstore.Batch{File: "x", Through: 5})
	other.load(&petstore.Batch{File: "x", Through: 6})
	s.wantReached("x", 5)
	reset := func(ctx context.Context) error { return s.ResetWorkspace(ctx, s.workspace, "cli") }
	s.breakOff(reset, s.isResetting)
	for what, err := range map[string]error{
		"CreateCategory": errOf(s.CreateCategory(s.ctx, s.workspace, petstore.NewCategory{Name: "late"}, nil)),
		"Load":           errOf(s.Load(s.ctx, s.workspace, &petstore.Batch{Units: checked(newPets(1))})),
		"Dump":           s.Dump(s.ctx, s.workspace, new(keeper)),
	} {
		s.wantCode(what+" while the workspace is reset", err, petstore.CodeServiceUnavailable)
	}
	if all, err := s.Workspaces(s.ctx, 0, 100); err != nil || !all[0].Resetting && !all[1].Resetting {
		s.Errorf("Workspaces = %+v, %v, want that one is resetting", all, err)
	}
	var ended atomic.Bool
	resumed, written := make(chan error, 1), 0
	go func() {
		err := reset(s.ctx)
		ended.Store(true)
		resumed <- err
	}()
	for ; !ended.Load(); written++ {
		other.category("Dogs")
	}
	must(s, <-resumed)
	if written == 0 {
		s.Error("no category of another workspace was made meanwhile")
	}
	s.wantEmpty()
	s.wantReached("x", 0)
	other.wantReached("x", 6)
	s.wantKey(k)
	other.wantItem(kept, 5, petstore.Available)
	if s.isResetting() {
		s.Error("the workspace is still resetting")
	}
	if id := s.category("Cats"); id <= 6 {
		s.Errorf("the next category has the id %d, want one above 6: each thousand of pets had one", id)
	}
}

// testBrokenOff: a reset and a deletion whose contexts end when they have begun are ended by
// others. Until then Check says that rows are being removed.
func testBrokenOff(s *tenant) {
	doomed := s.beside("doomed")
	k := doomed.key("k", time.Time{})
	gone := func() bool {
		return petstore.CodeOf(errOf(s.Workspace(s.ctx, doomed.name))) == access.CodeWorkspaceNotFound
	}
	s.breakOff(func(ctx context.Context) error { return s.ResetWorkspace(ctx, s.workspace, "cli") }, s.isResetting)
	doomed.breakOff(func(ctx context.Context) error { return s.DeleteWorkspace(ctx, doomed.workspace, "cli") }, gone)
	s.wantCode("Key", errOf(s.Key(s.ctx, k.ID)), access.CodeKeyNotFound)
	if problems, err := s.Check(s.ctx); err != nil || len(problems) != 2 || !strings.Contains(problems[0], "is being reset or deleted") || !s.isResetting() {
		s.Errorf("Check = %q, %v, want that rows of two workspaces are being removed", problems, err)
	}
	for range 2 { // and nothing more to do
		must(s, s.Resume(s.ctx))
	}
	s.wantEmpty()
	doomed.wantEmpty()
	s.category("Dogs")
}

// breakOff calls remove and ends its context when that has begun.
func (s *tenant) breakOff(remove func(context.Context) error, begun func() bool) {
	s.Helper()
	s.herd(4000)
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	removed := make(chan error, 1)
	go func() { removed <- remove(ctx) }()
	processtest.Eventually(s, "the removal begins", begun)
	cancel()
	s.wantCode("the removal broken off", <-removed, petstore.CodeServiceUnavailable)
}

// testLateForDeletion: what servers save of a workspace goes with it, also if they save it
// before they learn of the deletion. A change that began before the deletion is refused.
func testLateForDeletion(s *tenant) {
	save := func() {
		s.saveWindows(ratelimit.SavedWindow{Subject: fmt.Sprintf("w:%d", s.workspace), Day: s.clock.Now().Unix() / 86400, DayUsed: 1})
		must(s, s.AddUsage(s.ctx, []usage.Row{usageRow(s.workspace, usage.Minute, "", 600, 1)}))
	}
	wantNothing := func() {
		s.Helper()
		same(s, "LoadLimits", []ratelimit.SavedWindow{})(s.LoadLimits(s.ctx))
		same(s, "Usage", []usage.Row{})(s.Usage(s.ctx, usage.Query{Workspace: s.workspace, Interval: usage.Minute, From: time.Unix(0, 0), To: time.Unix(1000, 0)}))
	}
	save()
	must(s, s.DeleteWorkspace(s.ctx, s.workspace, "cli"))
	wantNothing()
	must(s, s.Resume(s.ctx))
	s.wantCode("CreateCategory", errOf(s.CreateCategory(s.ctx, s.workspace, petstore.NewCategory{Name: "late"}, nil)), petstore.CodeServiceUnavailable)
	s.wantCode("Load", errOf(s.Load(s.ctx, s.workspace, &petstore.Batch{Units: checked(newPets(1))})), access.CodeWorkspaceNotFound)
	save()
	s.clock.Advance(2 * time.Hour)
	must(s, s.Resume(s.ctx))
	wantNothing()
}
