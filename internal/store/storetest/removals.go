package storetest

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/ratelimit"
	"example.com/petstore/internal/usage"
	"example.com/petstore/internal/webhook"
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

// testReset: the workspace is empty at once, and keeps its keys and its ids. What began in the shop
// before is refused. While its thousands of pets are removed, others write.
func testReset(s *tenant) {
	other := s.beside("other")
	k, kept := s.key("k", time.Time{}), other.pet(5)
	id, before := s.workspace, *s
	s.herd(4000)
	s.load(&petstore.Batch{File: "x", Through: 5})
	other.load(&petstore.Batch{File: "x", Through: 6})
	s.wantReached("x", 5)
	last := len(s.events())
	must(s, s.ResetWorkspace(s.ctx, id, "cli"))
	s.follow()
	s.wantEmpty()
	for what, err := range map[string]error{
		"CreateCategory": errOf(before.CreateCategory(s.ctx, id, petstore.NewCategory{Name: "late"}, nil)),
		"Load":           errOf(before.Load(s.ctx, id, &petstore.Batch{Units: checked(newPets(1))})),
		"Dump":           before.Dump(s.ctx, id, new(keeper)),
		"ChangeWebhook":  errOf(before.ChangeWebhook(s.ctx, webhook.Change{Workspace: id, By: "cli", Edit: func(*webhook.Webhook, webhook.Feed) error { return nil }})),
	} {
		s.wantCode(what+" in the shop before", err, petstore.CodeServiceUnavailable)
	}
	s.wantCode("Events of the shop before", errOf(s.Events(s.ctx, id, petstore.EventQuery{Limit: 10})), petstore.CodeEventsExpired)
	if id := s.category("Cats"); id <= 4 {
		s.Errorf("the next category has the id %d, want one above 4: each thousand of pets had one", id)
	}
	if all := s.events(); len(all) != 2 || all[0].Type != petstore.WorkspaceReset || all[0].ID != int64(last)+1 {
		s.Errorf("Events = %+v, want the reset, with the id %d, and the category", all, last+1)
	}
	s.wantReached("x", 0)
	other.wantReached("x", 6)
	var ended atomic.Bool
	resumed, written := make(chan error, 1), 0
	go func() {
		err := s.Resume(s.ctx)
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
	before.wantEmpty()
	s.wantKey(k)
	other.wantItem(kept, 5, petstore.Available)
}

// testBrokenOff: the rows of a reset and of a deletion are removed by others, if who began that ends. Until then Check
// leaves them out.
func testBrokenOff(s *tenant) {
	doomed := s.beside("doomed")
	k := doomed.key("k", time.Time{})
	s.herd(1000)
	doomed.herd(1000)
	must(s, s.ResetWorkspace(s.ctx, s.workspace, "cli"))
	must(s, s.DeleteWorkspace(s.ctx, doomed.workspace, "cli"))
	ended, cancel := context.WithCancel(s.ctx)
	cancel()
	s.wantCode("Resume", s.Resume(ended), petstore.CodeServiceUnavailable)
	s.wantCode("Key", errOf(s.Key(s.ctx, k.ID)), access.CodeKeyNotFound)
	if problems, err := s.Check(s.ctx); err != nil || len(problems) > 0 {
		s.Errorf("Check in the middle = %q, %v, want no problems", problems, err)
	}
	for range 2 { // and nothing more to do
		must(s, s.Resume(s.ctx))
	}
	s.wantEmpty()
	doomed.wantEmpty()
	s.follow()
	s.category("Dogs")
}

// testLateForDeletion: what servers saved of a workspace goes with it. A change that began before
// the deletion is refused.
func testLateForDeletion(s *tenant) {
	s.saveWindows(ratelimit.SavedWindow{Subject: fmt.Sprintf("w:%d", s.workspace), Day: s.clock.Now().Unix() / 86400, DayUsed: 1})
	must(s, s.AddUsage(s.ctx, []usage.Row{usageRow(s.workspace, usage.Minute, "", 600, 1)}))
	must(s, s.DeleteWorkspace(s.ctx, s.workspace, "cli"))
	same(s, "LoadLimits", []ratelimit.SavedWindow{})(s.LoadLimits(s.ctx))
	same(s, "Usage", []usage.Row{})(s.Usage(s.ctx, usage.Query{Workspace: s.workspace, Interval: usage.Minute, From: time.Unix(0, 0), To: time.Unix(1000, 0)}))
	must(s, s.Resume(s.ctx))
	s.wantCode("CreateCategory", errOf(s.CreateCategory(s.ctx, s.workspace, petstore.NewCategory{Name: "late"}, nil)), petstore.CodeServiceUnavailable)
	s.wantCode("Load", errOf(s.Load(s.ctx, s.workspace, &petstore.Batch{Units: checked(newPets(1))})), access.CodeWorkspaceNotFound)
}
