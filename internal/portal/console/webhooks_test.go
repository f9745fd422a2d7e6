package console_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/portal/console"
	"example.com/petstore/internal/webhook"
)

// TestEventPages: the newest are first, by page and by type, and an update shows what
// was before.
func TestEventPages(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w, other := h.workspace("shop"), h.workspace("other")
	for i := range 40 {
		must(t, errOf(h.shop.UpdateInventory(petstore.OfRequest(t.Context(), "r-1"), w.ID, 1, int64(100+i), petstore.Condition{})))
	}
	g := h.signedIn(w, access.Read)
	first := g.get("/console/events").want(200, "inventory.updated")
	next := regexp.MustCompile(`rel="next" href="([^"]+)"`).FindStringSubmatch(first.body)
	if next == nil || !strings.Contains(first.body, ">43</a>") || strings.Contains(first.body, ">18</a>") {
		t.Fatalf("the first page does not have the events 43 to 19:\n%s", first.body)
	}
	second := g.get(next[1]).want(200, ">18</a>").want(200, ">1</a>")
	if strings.Contains(second.body, ">19</a>") || strings.Contains(second.body, `rel="next"`) {
		t.Errorf("the second page has an event of the first, or leads on:\n%s", second.body)
	}
	created := g.get("/console/events?type=pet.created").want(200, ">2</a>")
	if strings.Contains(created.body, ">3</a>") {
		t.Errorf("the page of one type has others:\n%s", created.body)
	}
	changed := g.get("/console/events/43").want(200, `<bdi class="name">138</bdi>`).want(200, `<bdi class="name">139</bdi>`).want(200, "/console/requests/r-1").want(200, "/console/pets/1")
	if strings.Contains(changed.body, "<code>status</code>") {
		t.Errorf("the page of an event has what it did not change:\n%s", changed.body)
	}
	g.get("/console/events/2").want(200, `<bdi class="name">=Rex</bdi>`)
	g.get("/console/events/99").want(404, "no event")
	h.signedIn(other, access.Read).get("/console/events/43").want(404, "no event")
}

// TestWithoutEvents: where none are kept, there are neither their pages nor webhooks.
func TestWithoutEvents(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	o := h.console.Options
	o.Events, o.Webhooks = nil, nil
	var err error
	if h.console, err = console.New(o); err != nil {
		t.Fatal(err)
	}
	g := h.signedIn(h.workspace("shop"), access.Read|access.Write|access.Manage)
	for _, path := range []string{"/console/events", "/console/events/1", "/console/webhooks", "/console/webhooks/new"} {
		g.get(path).want(404, "There is no such page")
	}
	if a := g.get("/console"); strings.Contains(a.body, "/console/events") {
		t.Errorf("the console leads to events:\n%s", a.body)
	}
}

// A receiver takes events and answers as it is told.
func receiver(t *testing.T, status int, answer string) (url string, got chan string) {
	t.Helper()
	got = make(chan string, 8)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- string(body)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/hook", got
}

var hookIn = regexp.MustCompile(`/console/webhooks/wh_[A-Z2-7]+`)

// addHook makes a webhook in the console, and returns the path of its page and its secret.
func (g *guest) addHook(to string, types ...string) (at, secret string) {
	g.t.Helper()
	pairs := []string{"url", to, "description", "stock"}
	for _, one := range types {
		pairs = append(pairs, "types", one)
	}
	made := g.post("/console/webhooks/new", pairs...).want(200, "whsec_")
	return hookIn.FindString(made.body), regexp.MustCompile(`whsec_[^<]+`).FindString(made.body)
}

// TestWebhooks goes through the life of one.
func TestWebhooks(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := h.workspace("shop")
	g := h.signedIn(w, access.Read|access.Write|access.Manage)
	to, got := receiver(t, 201, "thanks <b>")
	g.post("/console/webhooks/new", "url", "ftp://x/").want(422, "url must begin with")
	g.post("/console/webhooks/new", "url", to, "types", "pet.sold").want(422, "There is no type of event")
	at, secret := g.addHook(to, "pet.created", "pet.deleted")
	page := g.get(at).want(200, "pet.created, pet.deleted").want(200, to).want(200, "No event was sent to it yet")
	if strings.Contains(page.body, "whsec_") {
		t.Error("the page of a webhook shows a secret")
	}
	g.get("/console/webhooks").want(200, at).want(200, `<span class="badge active">active</span>`)

	g.post(at+"/test").want(200, "The receiver answered 201").want(200, "thanks &lt;b&gt;")
	if body := <-got; !strings.Contains(body, `"webhook.test"`) {
		t.Errorf("the receiver got %s, want a test", body)
	}
	g.post(at+"/edit", "url", to, "types", "pet.deleted", "state", "paused").leadsTo(at)
	g.get(at).want(200, `<span class="badge paused">paused</span>`)
	g.get(at+"/edit").want(200, `value="`+to+`"`).want(200, `value="pet.deleted" checked="checked"`)
	g.post(at+"/edit", "url", "ftp://x/", "types", "pet.sold", "state", "active").want(422, "url must begin with").want(422, "There is no type of event")
	// A form keeps the state that it showed, also when it is shown again; another state that was set meanwhile stays.
	g.get(at+"/edit").want(200, `name="was" value="paused"`)
	g.post(at+"/edit", "url", "ftp://x/", "state", "active", "was", "active").want(422, `name="was" value="active"`)
	g.post(at+"/edit", "url", to, "types", "pet.deleted", "description", "old", "state", "active", "was", "active").leadsTo(at)
	g.get(at).want(200, `<span class="badge paused">paused</span>`).want(200, "old")
	g.post(at+"/edit", "url", to+"/2", "types", "pet.updated", "types", "pet.deleted", "description", "shelf", "state", "active", "was", "paused").leadsTo(at)
	g.get(at).want(200, "The webhook was saved").want(200, `<span class="badge active">active</span>`).want(200, "pet.updated, pet.deleted").want(200, to+"/2").want(200, "shelf")
	g.post(at+"/edit", "url", to, "state", "active").leadsTo(at)
	g.get(at).want(200, "<dt>Events</dt><dd>all</dd>")
	if made := g.post(at+"/rotate").want(200, "whsec_"); strings.Contains(made.body, secret) {
		t.Error("the new secret is the old one")
	}
	g.post(at+"/replay", "since", "tomorrow").want(422, "Enter a time")
	h.clock.Advance(time.Hour)
	for range 3 {
		must(t, errOf(h.shop.CreateCategory(t.Context(), w.ID, petstore.NewCategory{Name: "Cats"}, nil)))
		h.clock.Advance(time.Minute)
	}
	for since, after := range map[string]string{"2026-03-01T12:00": "0", "2026-03-01T13:00": "3", "2026-03-01T13:01:30": "5", "2026-03-02": "6"} {
		g.post(at+"/replay", "since", since).leadsTo(at)
		g.get(at).want(200, "The events since").want(200, "<dt>Read up to event</dt><dd>"+after+"</dd>")
	}
	g.post(at + "/delete").leadsTo("/console/webhooks")
	g.get(at).want(404, "There is no webhook")
	for _, act := range []string{"/edit", "/test", "/rotate", "/replay", "/delete", "/delivery"} {
		g.get(at+act).want(404, "There is no webhook")
		g.post(at+act, "after", "0", "delivery", "1").want(404, "There is no webhook")
	}
	var actions []string
	log, err := h.db.AuditPage(t.Context(), 0, 0, 50)
	must(t, err)
	for _, e := range log {
		if strings.HasPrefix(e.Action, "webhook.") && strings.HasPrefix(string(e.Actor), "console:") {
			actions = append(actions, e.Action)
		}
	}
	if want := "[webhook.delete webhook.replay webhook.replay webhook.replay webhook.replay webhook.rotate webhook.update webhook.update webhook.update webhook.update webhook.create]"; fmt.Sprint(actions) != want {
		t.Errorf("the audit log has %v, want %v", actions, want)
	}
}

// TestAuditOfWebhooks: the operator finds a webhook under its workspace, by its host.
func TestAuditOfWebhooks(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	to, _ := receiver(t, 200, "")
	for _, name := range []string{"shop", "zoo"} {
		h.signedIn(h.workspace(name), access.Read|access.Write|access.Manage).addHook(to)
	}
	g := h.signedInOperator()
	body := g.get("/console/audit?workspace=2").want(200, "webhook.create").want(200, "to 127.0.0.1:").body
	if n := strings.Count(body, "webhook.create"); n != 1 || hookIn.MatchString(body) {
		t.Errorf("the log of one workspace has %d webhooks that were created, want 1\n%s", n, body)
	}
}

// fail has the store keep that the first events were tried and failed.
func (h *house) fail(w access.Workspace, id string) {
	h.t.Helper()
	ctx := h.t.Context()
	must(h.t, errOf(h.hooks.Replay(ctx, w.ID, id, 0, "test")))
	if held, err := h.db.HoldWebhooks(ctx, webhook.Lease{Node: "n", Now: h.clock.Now(), Until: h.clock.Now().Add(time.Hour)}); err != nil || len(held) != 1 {
		h.t.Fatalf("HoldWebhooks = %v, %v", held, err)
	}
	if queued, err := h.db.QueueDeliveries(ctx, id, "n", h.clock.Now(), 100); err != nil || !queued {
		h.t.Fatalf("QueueDeliveries = %v, %v", queued, err)
	}
	h.try(id, webhook.Outcome{Event: 1, State: webhook.Failed, Tries: 10, Answer: webhook.Answer{Status: 503, Text: "later\n" + strings.Repeat("x", 200) + "END", Latency: 12 * time.Millisecond}, DisableReason: "too long", DisableAfter: time.Hour})
}

// try has the store keep a try of what is due now.
func (h *house) try(id string, try webhook.Outcome) {
	h.t.Helper()
	try.Webhook, try.DueAt, try.At = id, h.clock.Now(), h.clock.Now()
	must(h.t, h.db.RecordOutcomes(h.t.Context(), []webhook.Outcome{try}))
}

// TestDeliveries: they show what is sent and all that was answered, by page, also once one arrived; and those that failed can be
// sent again.
func TestDeliveries(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := h.workspace("shop")
	g := h.signedIn(w, access.Read|access.Write|access.Manage)
	to, _ := receiver(t, 200, "")
	at, _ := g.addHook(to)
	for i := range 30 {
		must(t, errOf(h.shop.UpdateInventory(t.Context(), w.ID, 1, int64(100+i), petstore.Condition{})))
	}
	id := strings.TrimPrefix(at, "/console/webhooks/")
	h.fail(w, id)
	g.get(at).want(200, at+"/delivery?event=33").want(200, "not tried yet").want(200, at+"?after=9")
	g.get(at+"?after=9").want(200, "503 in 12 ms: later xx").want(200, `<span class="badge failed">failed</span>`)
	g.get(at).want(200, `facts"><div><dt>State</dt><dd><span class="badge failed">failing</span>`)
	for _, where := range []string{at, "/console/webhooks", "/console"} {
		g.get(where).want(200, `<span class="badge failed">failing</span> <small>since</small>`).want(200, `<bdi class="name">503 in 12 ms: later xx`)
	}
	if a := h.signedIn(w, access.Read|access.Write).get("/console"); strings.Contains(a.body, "503 in 12 ms") {
		t.Errorf("the overview shows webhooks to one who may not manage:\n%s", a.body)
	}
	must(t, errOf(h.hooks.Update(t.Context(), w.ID, id, webhook.Patch{State: petstore.Some(webhook.Paused)}, petstore.Condition{}, "cli")))
	one := at + "/delivery?event=1"
	g.get(one).want(200, `<dt>State</dt><dd><span class="badge failed">failed</span>`).want(200, "xxxEND").want(200, `<span class="badge failed">503</span>`).
		want(200, "POST /hook HTTP/1.1\nHost: ").want(200, "\nWebhook-Id: evt_1_1\n").want(200, "Webhook-Signature: v1,").want(200, `{&#34;id&#34;:1,&#34;type&#34;:&#34;category.created&#34;,`)
	g.post(one).leadsTo(one)
	const waits = "once the webhook is active again</"
	g.get(one).want(200, `<span class="badge pending">to come</span>`).want(200, waits)
	g.get(at).want(200, waits)
	g.post(at+"/edit", "url", to, "state", "active").leadsTo(at)
	h.try(id, webhook.Outcome{Event: 1, State: webhook.Delivered, Tries: 1, Answer: webhook.Answer{Status: 204}})
	g.get(one).want(200, "xxxx").want(200, `<span class="badge failed">503</span>`).want(200, `<span class="badge delivered">204</span>`)
	if a := g.get("/console/webhooks"); strings.Contains(a.body, "failing") {
		t.Errorf("after a success it still fails:\n%s", a.body)
	}
	g.get(one).want(200, `<dt>Event</dt><dd><a href="/console/events/1">1</a>`)
	h.try(id, webhook.Outcome{Event: 2, State: webhook.Failed, Tries: 10, Answer: webhook.Answer{Error: "The connection was refused."}})
	g.post(at+"/replay", "since", "").leadsTo(at)
	g.get(at).want(200, "1 event that failed is sent again")
	g.get(at+"?after=9").want(200, `<span class="badge failed">retrying</span>`).want(200, "The connection was refused.")
	h.try(id, webhook.Outcome{Event: 2, State: webhook.Failed, Tries: 10, DisableReason: "too long"}) // which disables it
	g.get(at+"/edit").want(200, "It is disabled. While it is paused")
	g.post(at+"/edit", "url", to, "state", "active").leadsTo(at)
	g.get(at).want(200, `<span class="badge active">active</span>`)
	for _, query := range []string{"?event=99", "?event=x", "", "?event=9223372036854775807"} {
		g.get(at+"/delivery"+query).want(404, "There is no delivery")
		g.post(at+"/delivery"+query).want(404, "There is no delivery")
	}
}
