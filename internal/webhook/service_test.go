package webhook_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/webhook"
)

// TestService: what is asked of one webhook.
func TestService(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.deliver("a")
	r := newReceiver(t, ok)
	w := s.hook(r)
	s.write(3)
	s.await("all arrive", func() bool { return len(r.got()) == 3 })
	s.await("all are recorded", func() bool {
		page, err := s.db.Deliveries(s.Context(), s.workspace, w.ID, 0, 10)
		return err == nil && len(page) == 3 && !slices.ContainsFunc(page, func(d webhook.Delivery) bool { return d.State != webhook.Delivered })
	})
	answer, err := s.hooks.Test(t.Context(), s.workspace, w.ID)
	if err != nil || answer.Status != http.StatusNoContent {
		t.Errorf("Test = %+v, %v", answer, err)
	}
	if _, err := s.hooks.Replay(t.Context(), s.workspace, w.ID, 1, "cli"); err != nil {
		t.Fatal(err)
	}
	s.await("two arrive again", func() bool { return slices.Equal(r.got(), []int64{1, 2, 3, 0, 2, 3}) })
	if _, err := s.hooks.Replay(t.Context(), s.workspace, w.ID, 4, "cli"); petstore.CodeOf(err) != petstore.CodeValidationFailed {
		t.Errorf("Replay after an event that there is not = %v", err)
	}
	s.await("they are recorded", func() bool {
		page, err := s.db.Deliveries(s.Context(), s.workspace, w.ID, 0, 10)
		return err == nil && !slices.ContainsFunc(page, func(d webhook.Delivery) bool { return d.State != webhook.Delivered })
	})
	if _, err := s.hooks.Retry(t.Context(), s.workspace, w.ID, 2); err != nil {
		t.Fatal(err)
	}
	s.await("one arrives again", func() bool { return len(r.got()) == 7 && r.got()[6] == 2 })
	c, err := s.hooks.Rotate(t.Context(), s.workspace, w.ID, nil, "cli")
	if err != nil || c.Webhook.Secret == w.Secret || c.Webhook.OldSecret != w.Secret || c.Webhook.OldUntil.Sub(s.clock.now()).Round(time.Minute) != 24*time.Hour {
		t.Errorf("Rotate = %+v, %v", c.Webhook, err)
	}
	must(t, s.hooks.Delete(t.Context(), s.workspace, w.ID, petstore.Condition{}, "cli"))
	s.write(1)
	if _, err := s.hooks.Test(t.Context(), s.workspace, w.ID); petstore.CodeOf(err) != webhook.CodeWebhookNotFound {
		t.Errorf("Test of a deleted webhook = %v", err)
	}
}

// TestFreshStart: who makes a webhook active, or gives it another URL, begins a new row of
// failures.
func TestFreshStart(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	w := s.hook(&receiver{url: "http://127.0.0.1:1/a"})
	failing := s.clock.now().Add(-time.Hour).Truncate(time.Millisecond)
	for name, c := range map[string]struct {
		from  webhook.State
		patch webhook.Patch
		fresh bool
	}{
		"a disabled webhook made active": {webhook.Disabled, webhook.Patch{State: petstore.Some(webhook.Active)}, true},
		"a paused webhook made active":   {webhook.Paused, webhook.Patch{State: petstore.Some(webhook.Active)}, true},
		"active as before":               {webhook.Active, webhook.Patch{State: petstore.Some(webhook.Active)}, false},
		"paused":                         {webhook.Active, webhook.Patch{State: petstore.Some(webhook.Paused)}, false},
		"another URL":                    {webhook.Active, webhook.Patch{URL: petstore.Some("http://127.0.0.1:1/b")}, true},
		"the same URL":                   {webhook.Active, webhook.Patch{URL: petstore.Some(w.URL)}, false},
	} {
		_, err := s.db.ChangeWebhook(t.Context(), webhook.Change{Workspace: s.workspace, ID: w.ID, Action: "test", Edit: func(now *webhook.Webhook, _ webhook.Feed) error {
			now.URL, now.State, now.FailingSince = w.URL, c.from, failing
			return nil
		}})
		must(t, err)
		now, err := s.hooks.Update(t.Context(), s.workspace, w.ID, c.patch, petstore.Condition{}, "cli")
		if err != nil || now.FailingSince.IsZero() != c.fresh {
			t.Errorf("%s: failing since %v, %v; want a fresh start: %t", name, now.FailingSince, err, c.fresh)
		}
	}
}
