package webhook_test

import (
	"context"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/webhook"
)

// TestHangingReceivers: however many webhooks of a workspace hang, all others get their
// events.
func TestHangingReceivers(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.deliver("a")
	release := make(chan struct{})
	hanging := newReceiver(t, func(int64) int { <-release; return http.StatusOK })
	for range webhook.MaxWebhooks - 1 {
		s.hook(hanging)
	}
	near, far := newReceiver(t, ok), newReceiver(t, ok)
	s.hook(near)
	other := s.beside()
	other.hook(far)
	s.write(10)
	other.write(10)
	s.await("the other webhook receives all", func() bool { return len(near.got()) == 10 })
	s.await("the other workspace receives all", func() bool { return len(far.got()) == 10 })
	if got := hanging.got(); len(got) > webhook.MaxWebhooks-1 {
		t.Errorf("%d are in flight at once, want one for each webhook", got)
	}
	close(release)
	s.await("all arrive in the end", func() bool { return len(hanging.got()) == 10*(webhook.MaxWebhooks-1) })
}

// TestChangeWhileHanging: nobody waits for the answer to a message that hangs before a
// change of its webhook counts. The message stays due.
func TestChangeWhileHanging(t *testing.T) {
	t.Parallel()
	s, store := newTardyShop(t)
	close(store.may)
	release := make(chan struct{})
	defer close(release)
	hanging := newReceiver(t, func(int64) int { <-release; return http.StatusOK })
	var calls atomic.Int64
	first := newReceiver(t, func(int64) int {
		if calls.Add(1) == 1 {
			<-release
		}
		return http.StatusOK
	})
	moved, paused := s.hook(hanging), s.hook(first)
	s.write(3)
	s.await("both hang", func() bool { return len(hanging.got()) == 1 && len(first.got()) == 1 })
	well := newReceiver(t, ok)
	s.update(moved.ID, webhook.Patch{URL: petstore.Some(well.url)})
	s.update(paused.ID, webhook.Patch{State: petstore.Some(webhook.Paused)})
	s.seen(store)
	s.update(paused.ID, webhook.Patch{State: petstore.Some(webhook.Active)})
	s.await("the new URL receives all", func() bool { return slices.Equal(well.got(), upTo(3)) })
	s.await("the one that was paused receives all", func() bool { return slices.Equal(first.got(), []int64{1, 1, 2, 3}) })
}

// A tardyStore keeps what came of tries when it is allowed to.
type tardyStore struct {
	webhook.Store
	may      chan struct{}
	answered atomic.Int64 // tries that are to be kept
	calls    atomic.Int64 // that keep some
	looks    atomic.Int64 // for webhooks
}

// newTardyShop returns a shop with a deliverer over such a store.
func newTardyShop(t *testing.T) (*shop, *tardyStore) {
	t.Helper()
	s := newShop(t)
	store := &tardyStore{Store: s.db, may: make(chan struct{})}
	s.store = store
	s.deliver("a")
	return s, store
}

func (s *tardyStore) RecordOutcomes(ctx context.Context, tries []webhook.Outcome) error {
	s.calls.Add(1)
	s.answered.Add(int64(len(tries)))
	<-s.may
	return s.Store.RecordOutcomes(ctx, tries)
}

func (s *tardyStore) HoldWebhooks(ctx context.Context, l webhook.Lease) ([]webhook.Webhook, error) {
	held, err := s.Store.HoldWebhooks(ctx, l)
	s.looks.Add(1)
	return held, err
}

// seen waits until the deliverer has seen what was changed before.
func (s *shop) seen(store *tardyStore) {
	s.Helper()
	looks := store.looks.Load() + 3
	s.await("the deliverer has seen it", func() bool { s.wakeAll(); return store.looks.Load() >= looks })
}

// TestUnkept: no more is posted than a kill may double while what came of it is not kept.
// What came of several messages is kept together.
func TestUnkept(t *testing.T) {
	t.Parallel()
	s, store := newTardyShop(t)
	r := newReceiver(t, ok)
	w := s.hook(r)
	s.update(w.ID, webhook.Patch{State: petstore.Some(webhook.Paused)})
	s.write(100)
	s.update(w.ID, webhook.Patch{State: petstore.Some(webhook.Active)})
	s.await("answers are to be kept", func() bool { return store.answered.Load() > 0 })
	s.write(5) // in which time more could be posted
	if got := int64(len(r.got())); got != store.answered.Load() || got > 8 {
		t.Errorf("received %d with nothing kept, of which %d are to be kept; want all, 8 at most", got, store.answered.Load())
	}
	close(store.may)
	s.await("all arrive", func() bool { return slices.Equal(r.got(), upTo(105)) })
	if n := store.calls.Load(); n > 100 {
		t.Errorf("what came of 105 messages was kept in %d transactions", n)
	}
}

// TestPausedBeforeKept: an event whose answer is not kept yet is not posted again when its
// webhook is paused and made active.
func TestPausedBeforeKept(t *testing.T) {
	t.Parallel()
	s, store := newTardyShop(t)
	r := newReceiver(t, ok)
	w := s.hook(r)
	s.write(1)
	s.await("the answer arrives", func() bool { return store.answered.Load() == 1 }) // what is cut off before is posted again
	for _, state := range []webhook.State{webhook.Paused, webhook.Active} {
		s.update(w.ID, webhook.Patch{State: petstore.Some(state)})
		s.seen(store)
	}
	close(store.may)
	s.write(1)
	s.await("the next event arrives", func() bool { return slices.Contains(r.got(), 2) })
	if got := r.got(); !slices.Equal(got, upTo(2)) {
		t.Errorf("received %d, want each once", got)
	}
}
