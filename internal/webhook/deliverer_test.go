package webhook_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/processtest"
	"example.com/petstore/internal/store/sqlite"
	"example.com/petstore/internal/webhook"
)

// A clock goes with the real one, and can be advanced.
type clock struct{ ahead atomic.Int64 }

func (c *clock) now() time.Time          { return time.Now().Add(time.Duration(c.ahead.Load())) }
func (c *clock) advance(d time.Duration) { c.ahead.Add(int64(d)) }

// A shop is a workspace in a database with deliverers.
type shop struct {
	*testing.T
	clock     clock
	db        *sqlite.DB
	store     webhook.Store // the database, unless a test puts something before it
	workspace int64
	service   *petstore.Service
	hooks     *webhook.Service
	wake      []func()
}

func newShop(t *testing.T) *shop {
	t.Helper()
	s := &shop{T: t}
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "petstore.db"), sqlite.Options{Now: s.clock.now, Readers: 4})
	must(t, err)
	t.Cleanup(func() { _ = db.Close() })
	w, err := db.CreateWorkspace(t.Context(), access.Workspace{Name: "shop", Plan: access.Free, Quota: access.FreeQuota}, "cli")
	must(t, err)
	s.db, s.store, s.workspace, s.service = db, db, w.ID, petstore.NewService(db)
	sender := webhook.NewSender(webhook.SenderOptions{
		Guard: webhook.NewGuard(true, []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}), Now: s.clock.now, Version: "test",
	})
	sender.SetPatience(time.Hour) // what hangs does so until the test ends it, on a busy machine too
	s.hooks = &webhook.Service{Store: db, Sender: sender, Now: s.clock.now, Wake: s.wakeAll}
	return s
}

// beside returns another workspace in the same database.
func (s *shop) beside() *shop {
	s.Helper()
	w, err := s.db.CreateWorkspace(s.Context(), access.Workspace{Name: rand.Text(), Plan: access.Free, Quota: access.FreeQuota}, "cli")
	must(s, err)
	return &shop{T: s.T, db: s.db, workspace: w.ID, service: s.service, hooks: s.hooks}
}

func (s *shop) wakeAll() {
	for _, wake := range s.wake {
		wake()
	}
}

// deliver runs a deliverer until the function that it returns is called, or the test ends.
func (s *shop) deliver(node string) (stop func()) {
	s.Helper()
	return s.run(s.deliverer(node))
}

// narrow runs a deliverer with so many slots, and a rest after giving way.
func (s *shop) narrow(slots int64, rest time.Duration) {
	s.Helper()
	d := s.deliverer("a")
	d.Narrow(slots, rest)
	s.run(d)
}

func (s *shop) deliverer(node string) *webhook.Deliverer {
	return webhook.NewDeliverer(webhook.Options{
		Store: s.store, Sender: s.hooks.Sender, Written: s.db.Written, Now: s.clock.now, Log: slog.New(slog.DiscardHandler),
		Observe: func(webhook.Observation) {}, Node: node,
	})
}

func (s *shop) run(d *webhook.Deliverer) (stop func()) {
	s.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); d.Run(ctx) }()
	s.wake = append(s.wake, d.Wake)
	stop = func() { cancel(); <-done }
	s.Cleanup(stop)
	return stop
}

// write makes so many categories: as many events.
func (s *shop) write(n int) {
	s.Helper()
	for range n {
		if _, err := s.service.CreateCategory(s.Context(), s.workspace, petstore.NewCategory{Name: "Cats"}, nil); err != nil {
			s.Fatal(err)
		}
	}
}

// hook makes a webhook that posts to a receiver.
func (s *shop) hook(r *receiver) webhook.Webhook {
	s.Helper()
	c, err := s.hooks.Create(s.Context(), s.workspace, webhook.New{URL: r.url}, nil, "cli")
	must(s, err)
	return c.Webhook
}

func (s *shop) update(id string, p webhook.Patch) webhook.Webhook {
	s.Helper()
	w, err := s.hooks.Update(s.Context(), s.workspace, id, p, petstore.Condition{}, "cli")
	must(s, err)
	return w
}

func (s *shop) get(id string) webhook.Webhook {
	s.Helper()
	w, err := s.db.Webhook(s.Context(), s.workspace, id)
	must(s, err)
	return w
}

// await polls until done.
func (s *shop) await(what string, done func() bool) {
	s.Helper()
	processtest.Eventually(s, what, done)
}

// A receiver keeps what it gets.
type receiver struct {
	url    string
	mu     sync.Mutex
	events []int64  // in the order of their arrival
	ids    []string // of the messages
	now    int
	most   int // at once
}

// newReceiver returns a receiver that answers with the status that answer returns of an
// event.
func newReceiver(t *testing.T, answer func(event int64) int) *receiver {
	t.Helper()
	r := &receiver{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		var e struct{ ID int64 }
		if body, err := io.ReadAll(q.Body); err != nil || json.Unmarshal(body, &e) != nil {
			return // it was cut off
		}
		r.mu.Lock()
		r.events, r.ids = append(r.events, e.ID), append(r.ids, q.Header.Get("Webhook-Id"))
		r.now++
		r.most = max(r.most, r.now)
		r.mu.Unlock()
		status := answer(e.ID)
		r.mu.Lock()
		r.now--
		r.mu.Unlock()
		w.WriteHeader(status)
	}))
	t.Cleanup(s.Close)
	r.url = s.URL
	return r
}

func (r *receiver) got() []int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.events)
}

func ok(int64) int { return http.StatusNoContent }

func upTo(n int64) (all []int64) {
	for i := range n {
		all = append(all, i+1)
	}
	return all
}

// TestInOrder: where nothing fails, each event arrives once, in the order of the feed, when
// the one before it was answered.
func TestInOrder(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.deliver("a")
	r := newReceiver(t, ok)
	w := s.hook(r)
	const events = 130
	s.write(events)
	s.await("all events arrive", func() bool { return len(r.got()) >= events })
	if got := r.got(); !slices.Equal(got, upTo(events)) || r.most != 1 {
		t.Errorf("received %d, %d at once; want 1 to %d in order, one at once", got, r.most, events)
	}
	if r.ids[6] != fmt.Sprintf("evt_%d_7", s.workspace) {
		t.Errorf("the id of the message of event 7 is %s", r.ids[6])
	}
	s.await("all are recorded", func() bool {
		page, err := s.db.Deliveries(s.Context(), s.workspace, w.ID, 0, 1000)
		return err == nil && len(page) == events && !slices.ContainsFunc(page, func(d webhook.Delivery) bool { return d.State != webhook.Delivered || d.Tries != 1 })
	})
}

// TestFailedEvent: one event that fails holds up no other, and is tried again later under
// the same id.
func TestFailedEvent(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.deliver("a")
	var well atomic.Bool
	r := newReceiver(t, func(event int64) int {
		if event == 2 && !well.Load() {
			return http.StatusInternalServerError
		}
		return http.StatusOK
	})
	w := s.hook(r)
	s.write(5)
	s.await("the others arrive", func() bool { return len(r.got()) >= 5 })
	s.await("the failure is recorded", func() bool {
		page, err := s.db.Deliveries(s.Context(), s.workspace, w.ID, 3, 1)
		return err == nil && len(page) == 1 && page[0].State == webhook.Pending && page[0].Status == 500
	})
	if got := r.got(); !slices.Equal(got, upTo(5)) {
		t.Errorf("received %d, want each once", got)
	}
	well.Store(true)
	s.clock.advance(6 * time.Second)
	s.wakeAll()
	s.await("the event arrives", func() bool { return len(r.got()) == 6 })
	if got := r.got(); got[5] != 2 || r.ids[5] != r.ids[1] {
		t.Errorf("received %d under %q, want event 2 again under the same id", got, r.ids)
	}
}

// TestRetryInFlight: what somebody asks to have delivered again while it is in flight is
// delivered again.
func TestRetryInFlight(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.deliver("a")
	asked := make(chan struct{})
	r := newReceiver(t, func(int64) int { <-asked; return http.StatusOK })
	w := s.hook(r)
	s.write(1)
	s.await("the event arrives", func() bool { return len(r.got()) == 1 })
	s.clock.advance(time.Second)
	if _, err := s.hooks.Retry(s.Context(), s.workspace, w.ID, 1); err != nil {
		t.Fatal(err)
	}
	close(asked)
	s.await("it arrives again", func() bool { return slices.Equal(r.got(), []int64{1, 1}) })
}

// TestGone: 410 disables at once. Whoever makes the webhook active again gets what came
// meanwhile.
func TestGone(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.deliver("a")
	var back atomic.Bool
	r := newReceiver(t, func(int64) int {
		if back.Load() {
			return http.StatusOK
		}
		return http.StatusGone
	})
	w := s.hook(r)
	s.write(1)
	s.await("it is disabled", func() bool { return s.get(w.ID).State == webhook.Disabled })
	s.write(1)
	back.Store(true)
	if now := s.update(w.ID, webhook.Patch{State: petstore.Some(webhook.Active)}); now.State != webhook.Active || !now.FailingSince.IsZero() {
		t.Fatalf("Update = %+v", now)
	}
	s.await("the next event arrives", func() bool { return slices.Contains(r.got(), 2) })
}

// TestTwoNodes: of two deliverers each webhook has one.
func TestTwoNodes(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	stop := s.deliver("a")
	s.deliver("b")
	r := newReceiver(t, ok)
	s.hook(r)
	s.write(50)
	s.await("all arrive", func() bool { return len(r.got()) >= 50 })
	stop()
	s.write(50)
	s.await("all arrive on the other node", func() bool { return len(r.got()) >= 100 })
	if got := r.got(); !slices.Equal(got, upTo(100)) {
		t.Errorf("received %d, want each once", got)
	}
}

// must ends the test if err is not nil.
var must = processtest.Must
