package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/webhook"
)

var webhookTests = map[string]func(*testing.T, Open){
	"changes":     testWebhookChanges,
	"once":        testWebhookOnce,
	"deliveries":  testDeliveries,
	"types":       testWebhookTypes,
	"leases":      testWebhookLeases,
	"failures":    testWebhookFailures,
	"failing":     testFailingTime,
	"pruned":      testPrunedDeliveries,
	"retried":     testRetriedMeanwhile,
	"deleted":     testDeletedDeliveries,
	"wrong clock": testWebhooksWrongClock,
	"replays":     testReplays,
	"their end":   testWebhookEnds,
	"many queues": testManyQueues,
}

// webhookID returns a well-formed id.
func webhookID(n int) string { return "wh_" + strings.Repeat("A", 25) + string(rune('A'+n)) }

// hook makes a webhook behind the event with the id after.
func (s *tenant) hook(n int, after int64, types ...petstore.EventType) webhook.Webhook {
	s.Helper()
	w := webhook.Webhook{
		ID: webhookID(n), Workspace: s.workspace, URL: "https://example.com/events", Types: types, Description: "till",
		State: webhook.Active, CreatedAt: s.clock.Now(), After: after, Secret: "whsec_new",
	}
	c, err := s.ChangeWebhook(s.ctx, webhook.Change{Workspace: s.workspace, By: "api:key_1", Action: "webhook.create", Edit: func(made *webhook.Webhook, _ webhook.Feed) error {
		*made = w
		return nil
	}})
	must(s, err)
	return c.Webhook
}

func (s *tenant) editHook(id string, edit func(*webhook.Webhook, webhook.Feed) error) error {
	_, err := s.ChangeWebhook(s.ctx, webhook.Change{Workspace: s.workspace, ID: id, By: "api:key_1", Action: "webhook.update", Edit: edit})
	return err
}

func (s *tenant) hold(node string) (ids []string) {
	s.Helper()
	now := s.clock.Now()
	held, err := s.HoldWebhooks(s.ctx, webhook.Lease{Node: node, Now: now, Until: now.Add(15 * time.Second)})
	must(s, err)
	for _, w := range held {
		ids = append(ids, w.ID)
	}
	return ids
}

// queued makes a webhook, which the node a holds, with so many deliveries due.
func (s *tenant) queued(n int) (id string) {
	s.Helper()
	id = s.hook(0, 0).ID
	s.hold("a")
	for range n {
		s.category("c")
	}
	s.queue(id, "a", true)
	return id
}

// delivered records that the events from 1 to n arrived, a while after each other.
func (s *tenant) delivered(id string, n int64, apart time.Duration) {
	s.Helper()
	for event := range n {
		s.clock.Advance(apart)
		s.record(webhook.Outcome{Webhook: id, Event: event + 1, State: webhook.Delivered, Tries: 1, At: s.clock.Now()})
	}
}

func (s *tenant) queue(id, node string, want bool) {
	s.Helper()
	if queued, err := s.QueueDeliveries(s.ctx, id, node, s.clock.Now(), 100); queued != want || err != nil {
		s.Errorf("QueueDeliveries(%s, %s) = %t, %v, want %t", id, node, queued, err, want)
	}
}

// due returns the ids of what is due to a node now, and when the next will be.
func (s *tenant) due(id, node string) (ids []int64, next time.Time) {
	s.Helper()
	all, next, err := s.DueDeliveries(s.ctx, id, node, s.clock.Now(), 100)
	must(s, err)
	for _, d := range all {
		ids = append(ids, d.Event.ID)
	}
	return ids, next
}

func (s *tenant) wantDue(what, id string, want ...int64) {
	s.Helper()
	if got, _ := s.due(id, "a"); !slices.Equal(got, want) {
		s.Errorf("%s: due are %d, want %d", what, got, want)
	}
}

// record keeps what came of tries of deliveries that are as they were when they were
// tried, unless a try says when it was due.
func (s *tenant) record(tries ...webhook.Outcome) {
	s.Helper()
	for i := range tries {
		if t := &tries[i]; t.DueAt.IsZero() {
			t.DueAt = s.delivery(t.Webhook, t.Event).NextAt
		}
	}
	must(s, s.RecordOutcomes(s.ctx, tries))
}

func (s *tenant) deleteHook(id string) {
	s.Helper()
	must(s, s.DeleteWebhook(s.ctx, s.workspace, id, "cli", func(webhook.Webhook) error { return nil }))
}

func (s *tenant) delivery(id string, event int64) webhook.Delivery {
	s.Helper()
	page, err := s.Deliveries(s.ctx, s.workspace, id, event+1, 1)
	if err != nil || len(page) != 1 || page[0].ID != event {
		s.Fatalf("Deliveries = %+v, %v, want that of event %d", page, err, event)
	}
	return page[0]
}

func (s *tenant) getHook(id string) webhook.Webhook {
	s.Helper()
	w, err := s.Stores.Webhook(s.ctx, s.workspace, id)
	must(s, err)
	return w
}

func testWebhookChanges(t *testing.T, open Open) {
	s := newTenant(t, open)
	want := s.hook(0, 7, petstore.OrderCreated, petstore.PetUpdated)
	if got := s.getHook(want.ID); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("Webhook = %v, want %v", got, want)
	}
	now := s.clock.Now()
	want.URL, want.Types, want.Description, want.State = "https://example.org/", nil, "", webhook.Paused
	want.Secret, want.OldSecret, want.OldUntil, want.FailingSince, want.After = "whsec_a", "whsec_b", now.Add(time.Hour), now, 3
	must(t, s.editHook(want.ID, func(w *webhook.Webhook, _ webhook.Feed) error { *w = want; return nil }))
	if all, err := s.Webhooks(s.ctx, s.workspace); err != nil || len(all) != 1 || fmt.Sprint(all[0]) != fmt.Sprint(want) {
		t.Errorf("Webhooks = %v, %v, want %v", all, err, want)
	}
	refused := errors.New("refused")
	if err := s.editHook(want.ID, func(w *webhook.Webhook, _ webhook.Feed) error { w.URL = "x"; return refused }); !errors.Is(err, refused) {
		t.Errorf("ChangeWebhook = %v, want the error of Edit", err)
	}
	if got := s.getHook(want.ID); got.URL != want.URL {
		t.Errorf("a change that was refused left the URL %s", got.URL)
	}
	other := s.beside("other")
	_, err := other.Stores.Webhook(s.ctx, other.workspace, want.ID)
	wantCode(t, "Webhook of another workspace", err, webhook.CodeWebhookNotFound)
	nothing := func(*webhook.Webhook, webhook.Feed) error { return nil }
	wantCode(t, "ChangeWebhook of another workspace", other.editHook(want.ID, nothing), webhook.CodeWebhookNotFound)
	wantCode(t, "ChangeWebhook of a strange id", s.editHook("wh_\x00", nothing), webhook.CodeWebhookNotFound)
	for n := 1; n < webhook.MaxWebhooks; n++ {
		s.hook(n, 0)
	}
	_, err = s.ChangeWebhook(s.ctx, webhook.Change{Workspace: s.workspace, Action: "webhook.create", Edit: nothing})
	wantCode(t, "one webhook too many", err, webhook.CodeTooManyWebhooks)
	log, err := s.AuditPage(s.ctx, 0, 1)
	if err != nil || log[0].Action != "webhook.create" || log[0].Actor != "api:key_1" || log[0].Subject != webhookID(webhook.MaxWebhooks-1) {
		t.Errorf("AuditPage = %+v, %v, want the last creation", log, err)
	}
}

func testWebhookOnce(t *testing.T, open Open) {
	s := newTenant(t, open)
	id := s.hook(0, 0).ID
	rotate := func(secret, key string) (webhook.Changed, error) {
		return s.ChangeWebhook(s.ctx, webhook.Change{
			Workspace: s.workspace, ID: id, Action: "webhook.rotate", Once: &petstore.Idempotency{Operation: "POST /x", Key: key},
			Edit: func(w *webhook.Webhook, _ webhook.Feed) error { w.Secret = secret; return nil },
		})
	}
	first, err := rotate("whsec_1", "a")
	if err != nil || first.Replayed || string(first.Body) != string(first.Webhook.WithSecret()) {
		t.Fatalf("the first = %+v, %v", first, err)
	}
	again, err := rotate("whsec_2", "a")
	if err != nil || !again.Replayed || string(again.Body) != string(first.Body) {
		t.Errorf("the same again = %+v, %v, want the body of the first", again, err)
	}
	if w := s.getHook(id); w.Secret != "whsec_1" {
		t.Errorf("the secret is %s, want that of the first", w.Secret)
	}
}

// testDeliveries: events become due in their order, and a try leaves what came of it.
func testDeliveries(t *testing.T, open Open) {
	s := newTenant(t, open)
	id := s.hook(0, 0).ID
	pet := s.pet(5) // category, pet, item, item
	s.order(pet, 1)
	s.queue(id, "a", false) // nobody holds it
	s.hold("a")
	s.queue(id, "a", true)
	s.queue(id, "a", false) // once
	events := s.events()
	due, _, err := s.DueDeliveries(s.ctx, id, "a", s.clock.Now(), 100)
	if err != nil || len(due) != len(events) {
		t.Fatalf("DueDeliveries = %d, %v, want all %d events", len(due), err, len(events))
	}
	for i, d := range due {
		if got, want := string(d.Event.AppendJSON(nil)), string(events[i].AppendJSON(nil)); got != want || d.Tries != 0 {
			t.Errorf("due is %s after %d tries, want %s", got, d.Tries, want)
		}
	}
	if w := s.getHook(id); w.After != events[len(events)-1].ID {
		t.Errorf("after is %d, want the last event's %d", w.After, events[len(events)-1].ID)
	}
	now := s.clock.Now()
	answer := webhook.Answer{Status: 500, Text: "no\n", Latency: 20 * time.Millisecond}
	s.record(
		webhook.Outcome{Webhook: id, Event: 1, State: webhook.Delivered, Tries: 1, At: now, Answer: webhook.Answer{Status: 204}},
		webhook.Outcome{Webhook: id, Event: 2, State: webhook.Pending, Tries: 1, At: now, Answer: answer, Next: now.Add(5 * time.Second), DisableAfter: time.Hour, DisableReason: "too long"},
		webhook.Outcome{Webhook: id, Event: 3, State: webhook.Failed, Tries: 10, At: now, Answer: webhook.Answer{Error: "gone"}, DisableAfter: time.Hour, DisableReason: "too long"},
	)
	ids, next := s.due(id, "a")
	if ids[0] != 4 || len(ids) != len(events)-3 || !next.Equal(now.Add(5*time.Second)) {
		t.Errorf("due are %d, and the next at %v; want those from 4 on, and 2 in 5 s", ids, next)
	}
	s.clock.Advance(5 * time.Second)
	if ids, _ := s.due(id, "a"); ids[len(ids)-1] != 2 {
		t.Errorf("due are %d, want 2 at the end, since it became due last", ids)
	}
	want := webhook.Delivery{ID: 2, Type: petstore.PetCreated, State: webhook.Pending, Tries: 1, TriedAt: now, Answer: answer, NextAt: now.Add(5 * time.Second)}
	page, err := s.Deliveries(s.ctx, s.workspace, id, 3, 1)
	if err != nil || len(page) != 1 || fmt.Sprint(page[0]) != fmt.Sprint(want) {
		t.Errorf("Deliveries = %+v, %v, want %+v", page, err, want)
	}
	s.testTries(id, 2, 4, answer)
	d, err := s.RetryDelivery(s.ctx, s.workspace, id, 3, s.clock.Now())
	if err != nil || d.State != webhook.Pending || d.Tries != 0 {
		t.Errorf("RetryDelivery = %+v, %v", d, err)
	}
	if ids, _ := s.due(id, "a"); !slices.Contains(ids, 3) {
		t.Errorf("due are %d, want 3 too", ids)
	}
	_, err = s.RetryDelivery(s.ctx, s.workspace, id, 99, now)
	wantCode(t, "RetryDelivery of none", err, webhook.CodeDeliveryNotFound)
	_, err = s.RetryDelivery(s.ctx, s.workspace, webhookID(9), 1, now)
	wantCode(t, "RetryDelivery to none", err, webhook.CodeWebhookNotFound)
}

// testTries: of a delivery that is tried again and again, also after a success, the latest
// tries are kept; and all that have failed are due again together.
func (s *tenant) testTries(id string, failed, untried int64, first webhook.Answer) {
	s.Helper()
	fail := webhook.Outcome{Webhook: id, Event: failed, State: webhook.Pending, Tries: 2, At: s.clock.Now(), Answer: webhook.Answer{Status: 503, Text: strings.Repeat("ä", 300)}, Next: s.clock.Now()}
	s.record(fail)
	if d := s.delivery(id, failed); len(d.Earlier) != 1 || d.Earlier[0].At.Equal(d.TriedAt) || d.Earlier[0].Answer != first || d.Status != 503 {
		s.Errorf("after a second try the delivery is %+v, want the first one's answer %+v too", d, first)
	}
	for range 11 {
		s.clock.Advance(time.Second)
		fail.Next, fail.DueAt, fail.At = s.clock.Now(), time.Time{}, s.clock.Now()
		s.record(fail)
	}
	d := s.delivery(id, failed)
	if first := d.Earlier[0]; len(d.Earlier) != 10 || !first.At.Equal(s.clock.Now().Add(-10*time.Second)) || len(first.Text) > 200 || len(d.Text) != 600 {
		s.Errorf("after 13 tries, %d earlier ones are kept: %+v", len(d.Earlier), d.Earlier)
	}
	if n, err := s.RetryFailed(s.ctx, s.workspace, id, s.clock.Now()); n != 2 || err != nil { // with the one that has ended
		s.Errorf("RetryFailed = %d, %v, want 2", n, err)
	}
	if again := s.delivery(id, failed); again.State != webhook.Pending || again.Tries != 0 || len(again.Earlier) != 10 || s.delivery(id, untried).Tries != 0 || s.delivery(id, 1).State != webhook.Delivered {
		s.Errorf("after RetryFailed, a delivery that failed is %+v", again)
	}
	_, err := s.RetryFailed(s.ctx, s.workspace+1, id, s.clock.Now())
	wantCode(s.T, "RetryFailed of another workspace", err, webhook.CodeWebhookNotFound)
}

func testWebhookTypes(t *testing.T, open Open) {
	s := newTenant(t, open)
	id := s.hook(0, 0, petstore.CategoryCreated, petstore.InventoryUpdated).ID
	s.hold("a")
	s.pet(5)
	s.queue(id, "a", true)
	s.wantDue("two types", id, 1, 4)
	s.petIn(s.category("more"), "Ann", petstore.Available)
	s.queue(id, "a", true)
	s.wantDue("behind", id, 1, 4, 5)
	s.petIn(2, "Bob", petstore.Available)
	s.queue(id, "a", false) // nothing that it takes
	last := int64(len(s.events()))
	s.must(0, s.ResetWorkspace(s.ctx, s.workspace, "cli"))
	s.queue(id, "a", true)
	s.wantDue("a reset, whatever its types", id, last+1)
}

// testWebhookLeases: each active webhook is one node's, until its lease ends or it lets go.
func testWebhookLeases(t *testing.T, open Open) {
	s := newTenant(t, open)
	first := s.hook(0, 0).ID
	s.category("Cats")
	wantHeld := func(node string, want ...string) {
		t.Helper()
		if got := s.hold(node); !slices.Equal(got, want) {
			t.Errorf("%s holds %v, want %v", node, got, want)
		}
	}
	wantHeld("a", first)
	wantHeld("b")
	second := s.hook(1, 0).ID
	wantHeld("b", second)
	wantHeld("a", first)
	s.queue(first, "b", false)
	for range 4 { // a goes on renewing
		s.clock.Advance(6 * time.Second)
		wantHeld("a", first)
		wantHeld("b", second)
	}
	s.clock.Advance(16 * time.Second)
	wantHeld("b", first, second)
	s.queue(first, "a", false)
	s.queue(first, "b", true)
	for node, want := range map[string][]int64{"a": nil, "b": {1}} {
		if got, _ := s.due(first, node); !slices.Equal(got, want) {
			t.Errorf("due to %s are %d, want %d", node, got, want)
		}
	}
	must(t, s.ReleaseWebhooks(s.ctx, "b"))
	wantHeld("c", first, second)
	if d := s.delivery(first, 1); d.State != webhook.Pending || d.NextAt.IsZero() {
		t.Errorf("the delivery is %+v, want it to be due", d)
	}
	must(t, s.editHook(first, func(w *webhook.Webhook, _ webhook.Feed) error { w.State = webhook.Paused; return nil }))
	wantHeld("c", second)
	if d := s.delivery(first, 1); d.State != webhook.Pending || !d.NextAt.IsZero() {
		t.Errorf("the delivery of a paused webhook is %+v, want no time at which it is tried", d)
	}
}

// testWebhookFailures: a success ends a row of failures; a row that is too long, or a
// receiver that wants no more, ends the webhook.
func testWebhookFailures(t *testing.T, open Open) {
	s := newTenant(t, open)
	id := s.hook(0, 0).ID
	s.hold("a")
	s.pet(5)
	s.queue(id, "a", true)
	fail := func(event int64, after time.Duration) {
		s.record(webhook.Outcome{Webhook: id, Event: event, State: webhook.Failed, Tries: 1, At: s.clock.Now(), Answer: webhook.Answer{Error: fmt.Sprint("no ", event)}, DisableAfter: after, DisableReason: "too long"})
	}
	wantState := func(what string, want webhook.State) {
		t.Helper()
		if w := s.getHook(id); w.State != want {
			t.Errorf("%s it is %s, want %s", what, w.State, want)
		}
	}
	s.holdFor(time.Hour, id)
	fail(1, time.Hour)
	began := s.clock.Now()
	s.clock.Advance(time.Minute)
	fail(2, time.Hour)
	if w := s.getHook(id); !w.FailingSince.Equal(began) || w.State != webhook.Active || w.Failure != "no 2" {
		t.Errorf("failing since %v, %s, %q; want %v, active, the latest failure", w.FailingSince, w.State, w.Failure, began)
	}
	s.record(webhook.Outcome{Webhook: id, Event: 3, State: webhook.Delivered, Tries: 1, At: s.clock.Now()})
	if w := s.getHook(id); !w.FailingSince.IsZero() || w.Failure != "" {
		t.Errorf("failing since %v, %q, after a success", w.FailingSince, w.Failure)
	}
	s.holdFor(2*time.Hour, id)
	fail(4, time.Hour)
	wantState("at the first failure after a success", webhook.Active)
	s.holdFor(59*time.Minute, id)
	fail(4, time.Hour)
	wantState("before an hour of failures", webhook.Active)
	s.holdFor(time.Minute, id)
	fail(4, time.Hour)
	wantState("after an hour of failures", webhook.Disabled)
	why := fmt.Sprintf("to example.com for workspace %d, disabled: too long", s.workspace)
	if log, err := s.AuditPage(s.ctx, 0, 1); err != nil || log[0].Action != "webhook.disable" || log[0].Subject != id || log[0].Detail != why {
		t.Errorf("AuditPage = %+v, %v, want %q", log, err, why)
	}
	if held := s.hold("a"); len(held) > 0 {
		t.Errorf("%v is held, though it is disabled", held)
	}
}

// holdFor has the node a hold a webhook for so long, with leases of fifteen seconds.
func (s *tenant) holdFor(long time.Duration, id string) {
	s.Helper()
	for end := s.clock.Now().Add(long); s.clock.Now().Before(end); s.clock.Advance(min(10*time.Second, end.Sub(s.clock.Now()))) {
		if held := s.hold("a"); !slices.Contains(held, id) {
			s.Fatalf("%s is not held", id)
		}
	}
}

// testFailingTime: how long a webhook has been failing is the time in which it was held,
// whatever clocks do and however often who holds it starts again.
func testFailingTime(t *testing.T, open Open) {
	s := newTenant(t, open)
	id := s.queued(1)
	fail := func(want webhook.State, what string) {
		t.Helper()
		now := s.clock.Now()
		s.record(webhook.Outcome{Webhook: id, Event: 1, State: webhook.Pending, Tries: 1, At: now, Next: now.Add(time.Second), DisableAfter: 20 * time.Minute, DisableReason: "too long"})
		if w := s.getHook(id); w.State != want {
			t.Fatalf("%s: it is %s, want %s", what, w.State, want)
		}
	}
	fail(webhook.Active, "the first failure")
	began := s.getHook(id).FailingSince
	for range 3 {
		s.clock.Advance(6 * 24 * time.Hour)
		s.holdFor(12*time.Second, id)
		fail(webhook.Active, "a clock that is ahead for a while")
		s.clock.Advance(-6 * 24 * time.Hour)
		s.holdFor(12*time.Second, id)
		fail(webhook.Active, "a clock that is right again")
	}
	if since := s.getHook(id).FailingSince; since.Before(began) || since.After(began.Add(time.Minute)) {
		t.Errorf("failing since %v, want %v", since, began)
	}
	s.clock.Advance(6 * 24 * time.Hour) // in which nobody holds it
	fail(webhook.Active, "a long stop")
	for range 2 {
		s.holdFor(5*time.Minute, id)
		fail(webhook.Active, "fewer than twenty minutes")
		must(t, s.ReleaseWebhooks(s.ctx, "a"))
	}
	s.holdFor(11*time.Minute, id)
	fail(webhook.Disabled, "twenty minutes in all")
}

func testPrunedDeliveries(t *testing.T, open Open) {
	s := newTenant(t, open)
	id := s.queued(6)
	s.delivered(id, 5, time.Minute)
	wantKept := func(what string, before time.Time, keep int, want ...int64) {
		t.Helper()
		must(t, s.PruneDeliveries(s.ctx, before, keep))
		page, err := s.Deliveries(s.ctx, s.workspace, id, 0, 100)
		must(t, err)
		var ids []int64
		for _, d := range page {
			ids = append(ids, d.ID)
		}
		if !slices.Equal(ids, want) {
			t.Errorf("%s: %d are kept, want %d", what, ids, want)
		}
	}
	wantKept("nothing", start, 5, 6, 5, 4, 3, 2, 1)
	wantKept("the latest four", start, 4, 6, 5, 4, 3, 2)
	wantKept("those of the last minute", s.clock.Now().Add(-time.Minute), 100, 6, 5, 4)
	wantKept("none that has ended", s.clock.Now().Add(time.Minute), 100, 6)
}

// testRetriedMeanwhile: what is made due while it is tried stays due, whatever came of the
// try. Of the webhook the try tells all the same.
func testRetriedMeanwhile(t *testing.T, open Open) {
	s := newTenant(t, open)
	id := s.queued(1)
	due, _, err := s.DueDeliveries(s.ctx, id, "a", s.clock.Now(), 100)
	if err != nil || len(due) != 1 {
		t.Fatalf("DueDeliveries = %+v, %v, want one", due, err)
	}
	s.clock.Advance(time.Second)
	now := s.clock.Now()
	if _, err := s.RetryDelivery(s.ctx, s.workspace, id, 1, now); err != nil {
		t.Fatal(err)
	}
	s.record(webhook.Outcome{Webhook: id, Event: 1, DueAt: due[0].DueAt, State: webhook.Failed, Tries: 10, At: now, DisableAfter: time.Hour, DisableReason: "too long"})
	if d := s.delivery(id, 1); d.State != webhook.Pending || d.Tries != 0 || !d.NextAt.Equal(now) {
		t.Errorf("the delivery is %+v, want it due as the retry made it", d)
	}
	s.wantDue("after the try", id, 1)
	if w := s.getHook(id); !w.FailingSince.Equal(now) {
		t.Errorf("failing since %v, want %v", w.FailingSince, now)
	}
}

// testDeletedDeliveries: what a deleted webhook has is not removed in its transaction,
// however much that is, but later, and nothing of another webhook with it.
func testDeletedDeliveries(t *testing.T, open Open) {
	s := newTenant(t, open)
	other := s.hook(1, 0).ID
	id := s.queued(250)
	s.queue(id, "a", true)
	s.queue(id, "a", true)
	s.queue(other, "a", true)
	s.deleteHook(id)
	s.hook(0, 250) // the same id shows what there is
	s.hold("a")
	if d := s.delivery(id, 250); d.State != webhook.Pending {
		t.Errorf("the last delivery is %+v, want it to be pending still", d)
	}
	s.deleteHook(id)
	must(t, s.PruneDeliveries(s.ctx, start, 1000))
	s.hook(0, 250)
	s.hold("a")
	s.wantDue("of the deleted webhook", id)
	if due, _ := s.due(other, "a"); len(due) != 100 {
		t.Errorf("due to the other are %d, want 100", len(due))
	}
}

// testWebhooksWrongClock: a node whose clock was far ahead holds no webhook for longer than others.
func testWebhooksWrongClock(t *testing.T, open Open) {
	const year = 365 * 24 * time.Hour
	s := newTenant(t, open)
	id := s.hook(0, 0).ID
	s.clock.Advance(year)
	s.hold("a")
	s.clock.Advance(-year)
	s.hold("a")
	s.clock.Advance(16 * time.Second)
	if held := s.hold("b"); !slices.Equal(held, []string{id}) {
		t.Errorf("b holds %v, want what a has not renewed since its clock is right", held)
	}
}

// testReplays: a webhook that goes back has its deliveries due again.
func testReplays(t *testing.T, open Open) {
	s := newTenant(t, open)
	id := s.queued(3)
	s.delivered(id, 3, 0)
	s.wantDue("all delivered", id)
	err := s.editHook(id, func(w *webhook.Webhook, f webhook.Feed) error {
		if f != (webhook.Feed{Last: 3}) {
			t.Errorf("the feed is %+v, want 3 events", f)
		}
		w.After = 1
		return nil
	})
	must(t, err)
	s.queue(id, "a", true)
	s.wantDue("after the first", id, 2, 3)
}

// testWebhookEnds: what a webhook and a workspace have goes with them.
func testWebhookEnds(t *testing.T, open Open) {
	s := newTenant(t, open)
	first, second := s.hook(0, 0).ID, s.hook(1, 0).ID
	s.hold("a")
	s.category("c")
	s.queue(first, "a", true)
	s.queue(second, "a", true)
	refused := errors.New("refused")
	if err := s.DeleteWebhook(s.ctx, s.workspace, first, "cli", func(webhook.Webhook) error { return refused }); !errors.Is(err, refused) {
		t.Errorf("DeleteWebhook = %v, want the error of may", err)
	}
	s.deleteHook(first)
	s.wantDue("of a deleted webhook", first)
	_, err := s.Deliveries(s.ctx, s.workspace, first, 0, 10)
	wantCode(t, "Deliveries of a deleted webhook", err, webhook.CodeWebhookNotFound)
	must(t, s.ResetWorkspace(s.ctx, s.workspace, "cli"))
	s.wantDue("after a reset", second)
	s.queue(second, "a", true)
	s.wantDue("the reset itself", second, s.events()[0].ID)
	must(t, s.DeleteWorkspace(s.ctx, s.workspace, "cli"))
	if held := s.hold("a"); len(held) > 0 {
		t.Errorf("%v is held, though its workspace is deleted", held)
	}
}

// testManyQueues: however many queue at once, each event becomes due once.
func testManyQueues(t *testing.T, open Open) {
	s := newTenant(t, open)
	id := s.hook(0, 0).ID
	s.hold("a")
	for range 50 {
		s.category("c")
	}
	done := make(chan error, 4)
	for range cap(done) {
		go func() {
			var err error
			for range 20 {
				if _, err = s.QueueDeliveries(s.ctx, id, "a", s.clock.Now(), 7); err != nil {
					break
				}
			}
			done <- err
		}()
	}
	for range cap(done) {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	want := make([]int64, 50)
	for i := range want {
		want[i] = int64(i) + 1
	}
	s.wantDue("all", id, want...)
}
