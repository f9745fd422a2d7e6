package webhook_test

import (
	"context"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/webhook"
)

// TestHangingReceiver: who hangs keeps no other webhook waiting. It has the event that was
// overtaken in flight and the one after it, but no more.
func TestHangingReceiver(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.overtake = 20 * time.Millisecond
	s.deliver("a")
	release := make(chan struct{})
	hanging := newReceiver(t, func(int64) int { <-release; return http.StatusOK })
	well := newReceiver(t, ok)
	s.hook(hanging)
	s.hook(well)
	s.write(30)
	s.await("the other receives all", func() bool { return len(well.got()) == 30 })
	s.await("one is overtaken", func() bool { return len(hanging.got()) >= 2 })
	s.write(30)
	s.await("the other receives all again", func() bool { return len(well.got()) == 60 })
	if got := hanging.got(); len(got) != 2 {
		t.Errorf("%d are in flight at once, want 2", got)
	}
	close(release)
	s.await("all arrive in the end", func() bool { return len(hanging.got()) == 60 })
}

// TestShare: however many webhooks of a workspace are slow, those of others have room.
func TestShare(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.overtake = 20 * time.Millisecond
	s.deliver("a")
	release := make(chan struct{})
	slow := newReceiver(t, func(int64) int { <-release; return http.StatusOK })
	for range webhook.MaxWebhooks {
		s.hook(slow)
	}
	s.write(30)
	const share = 16
	s.await("the workspace has its share", func() bool { return len(slow.got()) >= share })
	well := newReceiver(t, ok)
	other := s.beside()
	other.hook(well)
	other.write(30)
	other.await("the other workspace receives all", func() bool { return len(well.got()) == 30 })
	if got := slow.got(); len(got) != share {
		t.Errorf("%d of one workspace are in flight at once, want %d", len(got), share)
	}
	close(release)
	s.await("all arrive in the end", func() bool { return len(slow.got()) == 30*webhook.MaxWebhooks })
}

// A tardyStore keeps what came of tries when it is allowed to.
type tardyStore struct {
	webhook.Store
	may   chan struct{}
	looks atomic.Int64 // for webhooks
}

func (s *tardyStore) RecordTries(ctx context.Context, tries []webhook.Try) error {
	<-s.may
	return s.Store.RecordTries(ctx, tries)
}

func (s *tardyStore) HoldWebhooks(ctx context.Context, l webhook.Lease) ([]webhook.Webhook, error) {
	held, err := s.Store.HoldWebhooks(ctx, l)
	s.looks.Add(1)
	return held, err
}

// TestPausedBeforeKept: an event whose answer is not kept yet is not posted again when its
// webhook is paused and made active.
func TestPausedBeforeKept(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	store := &tardyStore{Store: s.db, may: make(chan struct{})}
	s.store = store
	s.deliver("a")
	r := newReceiver(t, ok)
	w := s.hook(r)
	s.write(1)
	s.await("the event arrives", func() bool { return len(r.got()) == 1 })
	for _, state := range []webhook.State{webhook.Paused, webhook.Active} {
		if _, err := s.hooks.Update(t.Context(), s.workspace, w.ID, webhook.Patch{State: petstore.Some(state)}, petstore.Condition{}, "cli"); err != nil {
			t.Fatal(err)
		}
		seen := store.looks.Load() + 3
		s.await("the deliverer has seen it", func() bool { s.wakeAll(); return store.looks.Load() >= seen })
	}
	close(store.may)
	s.write(1)
	s.await("the next event arrives", func() bool { return slices.Contains(r.got(), 2) })
	if got := r.got(); !slices.Equal(got, upTo(2)) {
		t.Errorf("received %d, want each once", got)
	}
}
