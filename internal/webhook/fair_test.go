package webhook_test

import (
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/webhook"
)

// hangingShops makes so many workspaces, each with so many webhooks to the receiver and an
// event.
func (s *shop) hangingShops(n, each int, r *receiver) (all []*shop) {
	s.Helper()
	for range n {
		other := s.beside()
		for range each {
			other.hook(r)
		}
		other.write(1)
		all = append(all, other)
	}
	return all
}

// TestHangingWorkspaces: however many webhooks of other workspaces hang, a workspace that
// asks for little gets its events, and those that give way are neither counted as tried nor
// tried again at once.
func TestHangingWorkspaces(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.narrow(16, time.Hour)
	release := make(chan struct{})
	defer close(release)
	hanging := newReceiver(t, func(int64) int { <-release; return http.StatusOK })
	others := s.hangingShops(5, 6, hanging)
	s.await("all slots are taken", func() bool { return len(hanging.got()) >= 16 })
	well := newReceiver(t, ok)
	s.hook(well)
	for n := range 10 {
		s.write(1)
		s.await("an event arrives", func() bool { return len(well.got()) == n+1 })
	}
	if got := len(hanging.got()); got > 30 {
		t.Errorf("the 30 webhooks that hang were tried %d times, want once each at most", got)
	}
	for _, other := range others {
		all, err := s.db.Webhooks(t.Context(), other.workspace)
		must(t, err)
		for _, w := range all {
			if page, err := s.db.Deliveries(t.Context(), other.workspace, w.ID, 0, 1); err != nil || len(page) == 0 || page[0].Tries != 0 && page[0].Status == 0 || !w.FailingSince.IsZero() {
				t.Errorf("what gave way is %+v, %v", page, err)
			}
		}
	}
}

// TestGivesWay: what gave way is tried again after a rest, as if it had not been tried.
func TestGivesWay(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.narrow(2, 10*time.Millisecond)
	release := make(chan struct{})
	hanging := newReceiver(t, func(int64) int { <-release; return http.StatusOK })
	other := s.hangingShops(1, 3, hanging)[0]
	s.await("both slots are taken", func() bool { return len(hanging.got()) == 2 })
	well := newReceiver(t, ok)
	s.hook(well)
	s.write(1)
	s.await("an event arrives", func() bool { return len(well.got()) == 1 })
	close(release)
	s.await("the others arrive", func() bool {
		all, err := s.db.Webhooks(t.Context(), other.workspace)
		return err == nil && !slices.ContainsFunc(all, func(w webhook.Webhook) bool {
			page, err := s.db.Deliveries(t.Context(), other.workspace, w.ID, 0, 1)
			return err != nil || len(page) == 0 || page[0].State != webhook.Delivered || page[0].Tries != 1
		})
	})
}

// TestTestsGiveWay: a workspace has four tests at once, and who tests little is answered,
// whoever else tests receivers that hang.
func TestTestsGiveWay(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	release := make(chan struct{})
	hanging := newReceiver(t, func(int64) int { <-release; return http.StatusOK })
	var tests sync.WaitGroup
	var refused atomic.Int64
	test := func(of *shop, id string) {
		switch _, err := s.hooks.Test(t.Context(), of.workspace, id); petstore.CodeOf(err) {
		case petstore.CodeServiceUnavailable:
			refused.Add(1)
		case "":
		default:
			t.Error(err)
		}
	}
	for range 16 {
		other := s.beside()
		id := other.hook(hanging).ID
		for range 5 {
			tests.Go(func() { test(other, id) })
		}
	}
	s.await("64 are under way", func() bool { return len(hanging.got()) == 64 && refused.Load() == 16 })
	if answer, err := s.hooks.Test(t.Context(), s.workspace, s.hook(newReceiver(t, ok)).ID); err != nil || !answer.OK() {
		t.Errorf("Test = %+v, %v", answer, err)
	}
	close(release)
	tests.Wait()
	if n := refused.Load(); n != 17 {
		t.Errorf("%d tests were refused, want the fifth of each workspace, and one that gave way", n)
	}
}
