package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/webhook"
)

var webhookTests = map[string]func(*tenant){
	"changes": testWebhookChanges, "deliveries": testDeliveries, "types": testWebhookTypes, "leases": testWebhookLeases, "failures": testWebhookFailures,
	"failing": testFailingTime, "pruned": testPrunedDeliveries, "deleted": testDeletedDeliveries, "their end": testWebhookEnds, "many queues": testManyQueues,
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

func testWebhookChanges(s *tenant) {
	want := s.hook(0, 7, petstore.OrderCreated, petstore.PetUpdated)
	same(s, "Webhook", want)(s.Stores.Webhook(s.ctx, s.workspace, want.ID))
	now := s.clock.Now()
	want.URL, want.Types, want.Description, want.State = "https://example.org/", nil, "", webhook.Paused
	want.Secret, want.OldSecret, want.OldUntil, want.FailingSince, want.After = "whsec_a", "whsec_b", now.Add(time.Hour), now, 3
	must(s, s.editHook(want.ID, func(w *webhook.Webhook, _ webhook.Feed) error { *w = want; return nil }))
	refused := errors.New("refused")
	if err := s.editHook(want.ID, func(w *webhook.Webhook, _ webhook.Feed) error { w.URL = "x"; return refused }); !errors.Is(err, refused) {
		s.Errorf("ChangeWebhook = %v, want the error of Edit", err)
	}
	same(s, "Webhooks", []webhook.Webhook{want})(s.Webhooks(s.ctx, s.workspace))
	other := s.beside("other")
	s.wantCode("Webhook of another workspace", errOf(other.Stores.Webhook(s.ctx, other.workspace, want.ID)), webhook.CodeWebhookNotFound)
	nothing := func(*webhook.Webhook, webhook.Feed) error { return nil }
	s.wantCode("ChangeWebhook of another workspace", other.editHook(want.ID, nothing), webhook.CodeWebhookNotFound)
	s.wantCode("ChangeWebhook of a strange id", s.editHook("wh_\x00", nothing), webhook.CodeWebhookNotFound)
	for n := 1; n < webhook.MaxWebhooks; n++ {
		s.hook(n, 0)
	}
	s.wantCode("one webhook too many", errOf(s.ChangeWebhook(s.ctx, webhook.Change{Workspace: s.workspace, Action: "webhook.create", Edit: nothing})), webhook.CodeTooManyWebhooks)
	if e := s.lastAudit(); e.Action != "webhook.create" || e.Actor != "api:key_1" || e.Subject != webhookID(webhook.MaxWebhooks-1) {
		s.Errorf("the audit log has %+v, want the last creation", e)
	}
}

// testDeliveries: events become due in their order, and a try leaves what came of it.
func testDeliveries(s *tenant) {
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
		s.Fatalf("DueDeliveries = %d, %v, want all %d events", len(due), err, len(events))
	}
	for i, d := range due {
		if got, want := string(petstore.JSON(d.Event)), string(petstore.JSON(events[i])); got != want || d.Tries != 0 {
			s.Errorf("due is %s after %d tries, want %s", got, d.Tries, want)
		}
	}
	if w := s.getHook(id); w.After != events[len(events)-1].ID {
		s.Errorf("after is %d, want the last event's %d", w.After, events[len(events)-1].ID)
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
		s.Errorf("due are %d, and the next at %v; want those from 4 on, and 2 in 5 s", ids, next)
	}
	s.clock.Advance(5 * time.Second)
	if ids, _ := s.due(id, "a"); ids[len(ids)-1] != 2 {
		s.Errorf("due are %d, want 2 at the end, since it became due last", ids)
	}
	want := webhook.Delivery{ID: 2, Type: petstore.PetCreated, State: webhook.Pending, Tries: 1, TriedAt: now, Answer: answer, NextAt: now.Add(5 * time.Second)}
	same(s, "Deliveries", []webhook.Delivery{want})(s.Deliveries(s.ctx, s.workspace, id, 3, 1))
	s.testTries(id, 2, 4, answer)
	d, err := s.RetryDelivery(s.ctx, s.workspace, id, 3, s.clock.Now())
	if err != nil || d.State != webhook.Pending || d.Tries != 0 {
		s.Errorf("RetryDelivery = %+v, %v", d, err)
	}
	if ids, _ := s.due(id, "a"); !slices.Contains(ids, 3) {
		s.Errorf("due are %d, want 3 too", ids)
	}
	s.wantCode("RetryDelivery of none", errOf(s.RetryDelivery(s.ctx, s.workspace, id, 99, now)), webhook.CodeDeliveryNotFound)
	s.wantCode("RetryDelivery to none", errOf(s.RetryDelivery(s.ctx, s.workspace, webhookID(9), 1, now)), webhook.CodeWebhookNotFound)
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
	s.wantCode("RetryFailed of another workspace", errOf(s.RetryFailed(s.ctx, s.workspace+1, id, s.clock.Now())), webhook.CodeWebhookNotFound)
}

func testWebhookTypes(s *tenant) {
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
	s.empty()
	s.queue(id, "a", true)
	s.wantDue("a reset, whatever its types", id, last+1)
}

// testWebhookLeases: each active webhook is one node's, until its lease ends or it lets go.
func testWebhookLeases(s *tenant) {
	first := s.hook(0, 0).ID
	s.category("Cats")
	wantHeld := func(node string, want ...string) {
		s.Helper()
		if got := s.hold(node); !slices.Equal(got, want) {
			s.Errorf("%s holds %v, want %v", node, got, want)
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
			s.Errorf("due to %s are %d, want %d", node, got, want)
		}
	}
	must(s, s.ReleaseWebhooks(s.ctx, "b"))
	const year = 365 * 24 * time.Hour
	s.clock.Advance(year)
	s.hold("a")
	s.clock.Advance(-year)
	s.hold("a")
	s.clock.Advance(16 * time.Second) // in which a, whose clock was far ahead, holds nothing for longer than others
	wantHeld("c", first, second)
	if d := s.delivery(first, 1); d.State != webhook.Pending || d.NextAt.IsZero() {
		s.Errorf("the delivery is %+v, want it to be due", d)
	}
	must(s, s.editHook(first, func(w *webhook.Webhook, _ webhook.Feed) error { w.State = webhook.Paused; return nil }))
	wantHeld("c", second)
	if d := s.delivery(first, 1); d.State != webhook.Pending || !d.NextAt.IsZero() {
		s.Errorf("the delivery of a paused webhook is %+v, want no time at which it is tried", d)
	}
}

// testWebhookFailures: a success ends a row of failures; a row that is too long, or a
// receiver that wants no more, ends the webhook.
func testWebhookFailures(s *tenant) {
	id := s.hook(0, 0).ID
	s.hold("a")
	s.pet(5)
	s.queue(id, "a", true)
	fail := func(event int64, after time.Duration) {
		s.record(webhook.Outcome{Webhook: id, Event: event, State: webhook.Failed, Tries: 1, At: s.clock.Now(), Answer: webhook.Answer{Error: fmt.Sprint("no ", event)}, DisableAfter: after, DisableReason: "too long"})
	}
	s.holdFor(time.Hour, id)
	fail(1, time.Hour)
	began := s.clock.Now()
	s.clock.Advance(time.Minute)
	fail(2, time.Hour)
	if w := s.getHook(id); !w.FailingSince.Equal(began) || w.State != webhook.Active || w.Failure != "no 2" {
		s.Errorf("failing since %v, %s, %q; want %v, active, the latest failure", w.FailingSince, w.State, w.Failure, began)
	}
	s.record(webhook.Outcome{Webhook: id, Event: 3, State: webhook.Delivered, Tries: 1, At: s.clock.Now()})
	if w := s.getHook(id); !w.FailingSince.IsZero() || w.Failure != "" {
		s.Errorf("failing since %v, %q, after a success", w.FailingSince, w.Failure)
	}
	for _, step := range []struct {
		held time.Duration
		want webhook.State
	}{{2 * time.Hour, webhook.Active}, {59 * time.Minute, webhook.Active}, {time.Minute, webhook.Disabled}} {
		s.holdFor(step.held, id)
		fail(4, time.Hour)
		if w := s.getHook(id); w.State != step.want {
			s.Errorf("after it was held for %s more it is %s, want %s", step.held, w.State, step.want)
		}
	}
	why := fmt.Sprintf("to example.com for workspace %d, disabled: too long", s.workspace)
	if e := s.lastAudit(); e.Action != "webhook.disable" || e.Subject != id || e.Detail != why {
		s.Errorf("the audit log has %+v, want %q", e, why)
	}
	if held := s.hold("a"); len(held) > 0 {
		s.Errorf("%v is held, though it is disabled", held)
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
func testFailingTime(s *tenant) {
	id := s.queued(1)
	fail := func(want webhook.State, what string) {
		s.Helper()
		now := s.clock.Now()
		s.record(webhook.Outcome{Webhook: id, Event: 1, State: webhook.Pending, Tries: 1, At: now, Next: now.Add(time.Second), DisableAfter: 20 * time.Minute, DisableReason: "too long"})
		if w := s.getHook(id); w.State != want {
			s.Fatalf("%s: it is %s, want %s", what, w.State, want)
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
		s.Errorf("failing since %v, want %v", since, began)
	}
	s.clock.Advance(6 * 24 * time.Hour) // in which nobody holds it
	fail(webhook.Active, "a long stop")
	for range 2 {
		s.holdFor(5*time.Minute, id)
		fail(webhook.Active, "fewer than twenty minutes")
		must(s, s.ReleaseWebhooks(s.ctx, "a"))
	}
	s.holdFor(11*time.Minute, id)
	fail(webhook.Disabled, "twenty minutes in all")
}

func testPrunedDeliveries(s *tenant) {
	id := s.queued(6)
	s.delivered(id, 5, time.Minute)
	wantKept := func(what string, before time.Time, keep int, want ...int64) {
		s.Helper()
		must(s, s.PruneDeliveries(s.ctx, before, keep))
		page, err := s.Deliveries(s.ctx, s.workspace, id, 0, 100)
		must(s, err)
		var ids []int64
		for _, d := range page {
			ids = append(ids, d.ID)
		}
		if !slices.Equal(ids, want) {
			s.Errorf("%s: %d are kept, want %d", what, ids, want)
		}
	}
	wantKept("nothing", start, 5, 6, 5, 4, 3, 2, 1)
	wantKept("the latest four", start, 4, 6, 5, 4, 3, 2)
	wantKept("those of the last minute", s.clock.Now().Add(-time.Minute), 100, 6, 5, 4)
	wantKept("none that has ended", s.clock.Now().Add(time.Minute), 100, 6)
}

// testDeletedDeliveries: what a deleted webhook has is not removed in its transaction,
// however much that is, but later, and nothing of another webhook with it.
func testDeletedDeliveries(s *tenant) {
	other := s.hook(1, 0).ID
	id := s.queued(250)
	s.queue(id, "a", true)
	s.queue(id, "a", true)
	s.queue(other, "a", true)
	s.deleteHook(id)
	s.hook(0, 250) // the same id shows what there is
	s.hold("a")
	if d := s.delivery(id, 250); d.State != webhook.Pending {
		s.Errorf("the last delivery is %+v, want it to be pending still", d)
	}
	s.deleteHook(id)
	must(s, s.PruneDeliveries(s.ctx, start, 1000))
	s.hook(0, 250)
	s.hold("a")
	s.wantDue("of the deleted webhook", id)
	if due, _ := s.due(other, "a"); len(due) != 100 {
		s.Errorf("due to the other are %d, want 100", len(due))
	}
}

// testWebhookEnds: what a webhook and a workspace have goes with them.
func testWebhookEnds(s *tenant) {
	id := s.workspace
	first, second := s.hook(0, 0).ID, s.hook(1, 0).ID
	s.hold("a")
	s.category("c")
	s.queue(first, "a", true)
	s.queue(second, "a", true)
	refused := errors.New("refused")
	if err := s.DeleteWebhook(s.ctx, s.workspace, first, "cli", func(webhook.Webhook) error { return refused }); !errors.Is(err, refused) {
		s.Errorf("DeleteWebhook = %v, want the error of may", err)
	}
	s.deleteHook(first)
	s.wantDue("of a deleted webhook", first)
	s.wantCode("Deliveries of a deleted webhook", errOf(s.Deliveries(s.ctx, s.workspace, first, 0, 10)), webhook.CodeWebhookNotFound)
	s.empty()
	s.wantDue("after a reset", second)
	s.queue(second, "a", true)
	s.wantDue("the reset itself", second, s.events()[0].ID)
	must(s, s.DeleteWorkspace(s.ctx, id, "cli"))
	if held := s.hold("a"); len(held) > 0 {
		s.Errorf("%v is held, though its workspace is deleted", held)
	}
}

// testManyQueues: however many queue at once, each event becomes due once.
func testManyQueues(s *tenant) {
	id := s.hook(0, 0).ID
	s.hold("a")
	for range 50 {
		s.category("c")
	}
	s.together(4, func(int) (err error) {
		for n := 0; n < 20 && err == nil; n++ {
			_, err = s.QueueDeliveries(s.ctx, id, "a", s.clock.Now(), 7)
		}
		return err
	})
	s.wantDue("all", id, upTo(1, 50)...)
}
