package httpapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/webhook"
)

// The webhooks of samples.
const sampleHook, spareHook = "wh_SAMPLEAAAAAAAAAAAAAAAAAAAA", "wh_SPAREAAAAAAAAAAAAAAAAAAAAA"

// webhooks returns what a service does with webhooks. They may lead to 127.0.0.2.
func (s *service) webhooks(db store) *webhook.Service {
	sender := webhook.NewSender(webhook.SenderOptions{
		Guard: webhook.NewGuard(true, []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}), Now: time.Now, Version: "test",
	})
	s.t.Cleanup(sender.Close)
	return &webhook.Service{Store: db, Sender: sender, Now: s.clock.Now, Wake: func() {}}
}

// addHook makes a webhook with the id, to which all events of the workspace are due.
func (s *service) addHook(w access.Workspace, id string) {
	s.t.Helper()
	_, err := s.db.ChangeWebhook(s.t.Context(), webhook.Change{Workspace: w.ID, By: "test", Action: "webhook.create", Edit: func(h *webhook.Webhook, _ webhook.Feed) error {
		*h = webhook.Webhook{ID: id, Workspace: w.ID, URL: "https://10.0.0.1/", State: webhook.Active, CreatedAt: s.clock.Now(), Secret: "whsec_c2VjcmV0"}
		return nil
	}})
	if err == nil {
		_, err = s.db.HoldWebhooks(s.t.Context(), webhook.Lease{Node: "test", Now: s.clock.Now(), Until: s.clock.Now().Add(time.Hour)})
	}
	if err == nil {
		_, err = s.db.QueueDeliveries(s.t.Context(), id, "test", s.clock.Now(), 100)
	}
	must(s.t, err)
}

// webhookFaults makes an operation on webhooks give the answers of those alone.
func (s *service) webhookFaults(id string, r request) {
	switch id {
	case "listWebhooks":
		return
	case "createWebhook":
		r.header = map[string]string{"Idempotency-Key": "same-" + r.path}
		s.do(r).want(201, "")
		r.body = anotherBody.Replace(r.body)
		s.do(r).want(422, "idempotency_key_reused")
		r.header = nil
		s.fullOfWebhooks(r)
		return
	case "replayWebhook":
		s.expiredReplay()
	case "retryDelivery":
		q := r
		q.path = strings.Replace(r.path, "/1/", "/999999/", 1)
		s.do(q).want(404, "delivery_not_found")
		q.path = strings.Replace(r.path, "/1/", "/x/", 1)
		s.do(q).want(400, "invalid_parameter").field("deliveryId", "invalid_type")
	}
	for _, other := range []string{"wh_UNKNOWNAAAAAAAAAAAAAAAAAAA", "other"} {
		q := r
		q.path = strings.Replace(strings.Replace(r.path, sampleHook, other, 1), spareHook, other, 1)
		s.do(q).want(404, "webhook_not_found")
	}
}

// fullOfWebhooks makes a request for a webhook while the workspace has as many as it can.
func (s *service) fullOfWebhooks(r request) {
	var made []string
	for {
		a := s.do(r)
		if a.status != 201 {
			a.want(409, "too_many_webhooks")
			break
		}
		made = append(made, a.webhook().ID)
	}
	for _, id := range made {
		s.del("/webhooks/"+id).want(204, "")
	}
}

// expiredReplay asks for events that are not kept.
func (s *service) expiredReplay() {
	w := s.addWorkspace("replayed", access.Quota{PerMinute: 1e9, PerDay: 1e9})
	key := s.addKey(w, access.Read|access.Write|access.Manage, time.Time{})
	s.with(key, "POST", "/categories", `{"name":"dogs"}`).want(201, "")
	must(s.t, s.db.ResetWorkspace(s.t.Context(), w.ID, "test"))
	must(s.t, s.keys.Refresh(s.t.Context()))
	id := s.with(key, "POST", "/webhooks", `{"url":"https://example.com/"}`).want(201, "").webhook().ID
	s.with(key, "POST", "/webhooks/"+id+"/replay", `{"after":0}`).want(410, "events_expired").field("/after", "out_of_range")
}

// A webhookAnswer is a webhook as the API answers it.
type webhookAnswer struct {
	ID, URL, Description, State, Secret string
	Types                               []string
	After                               int64
}

func (a answer) webhook() (w webhookAnswer) {
	a.t.Helper()
	if err := json.Unmarshal(a.body, &w); err != nil {
		a.t.Fatalf("%s: %v in %s", a.what, err, a.body)
	}
	return w
}

// teapot returns a receiver of tests of a webhook, signed with its secret.
func teapot(t *testing.T, secret *string) *httptest.Server {
	t.Helper()
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || !strings.Contains(string(body), `"type":"webhook.test"`) {
			t.Errorf("received %s, %v", body, err)
		}
		v, err := standardwebhooks.NewWebhook(*secret)
		if err != nil {
			t.Error(err)
		} else if err := v.Verify(body, r.Header); err != nil {
			t.Error(err)
		}
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprint(w, "short and stout")
	}))
	t.Cleanup(receiver.Close)
	return receiver
}

// TestLifeOfAWebhook makes a webhook, tests it, changes it, rotates its secret and deletes
// it, all over HTTP.
func TestLifeOfAWebhook(t *testing.T) {
	t.Parallel()
	s := openService(t)
	s.stock()
	var secret string
	receiver := teapot(t, &secret)
	made := s.post("/webhooks", `{"url":"`+receiver.URL+`","types":["order.created"],"description":"till"}`).want(201, "")
	if log, err := s.db.AuditPage(t.Context(), 0, 0, 1); err != nil || log[0].Action != "webhook.create" || log[0].Actor != access.Actor("api:"+s.idOfKey(s.key)) {
		t.Errorf("AuditPage = %+v, %v, want the creation by the key", log, err)
	}
	w := made.webhook()
	secret = w.Secret
	last := s.get("/events?after=0&limit=100").want(200, "")
	var events []event
	must(t, json.Unmarshal(last.body, &events))
	if !strings.HasPrefix(w.ID, "wh_") || w.URL != receiver.URL || w.State != "active" || w.After != events[len(events)-1].ID || !slices.Equal(w.Types, []string{"order.created"}) ||
		!strings.HasPrefix(w.Secret, "whsec_") || made.header.Get("Location") != "https://shop.example/v1/webhooks/"+w.ID {
		t.Errorf("createWebhook = %s at %s", made.body, made.header.Get("Location"))
	}
	read := s.get("/webhooks/"+w.ID).want(200, "")
	if read.header.Get("ETag") != made.header.Get("ETag") || strings.Contains(string(read.body), "whsec_") {
		t.Errorf("getWebhook = %s with %s, want %s and no secret", read.body, read.header.Get("ETag"), made.header.Get("ETag"))
	}
	if a := s.post("/webhooks/"+w.ID+"/test", "").want(200, ""); !strings.Contains(string(a.body), `"status":418,"answer":"short and stout"`) {
		t.Errorf("testWebhook = %s", a.body)
	}
	if a := s.post("/webhooks/"+sampleHook+"/test", "").want(200, ""); !strings.Contains(string(a.body), `"error":"The host was not found, or has no public address."`) {
		t.Errorf("testWebhook of a private address = %s", a.body)
	}
	s.do(request{method: "PATCH", path: "/webhooks/" + w.ID, body: `{"types":null,"description":null,"state":"paused"}`, header: map[string]string{"If-Match": read.header.Get("ETag")}}).want(200, "")
	if now := s.get("/webhooks/"+w.ID).want(200, "").webhook(); now.State != "paused" || now.Types != nil || now.Description != "" {
		t.Errorf("updateWebhook left %+v", now)
	}
	once := map[string]string{"Idempotency-Key": "rotate"}
	rotated := s.do(request{method: "POST", path: "/webhooks/" + w.ID + "/rotate", header: once}).want(200, "")
	again := s.do(request{method: "POST", path: "/webhooks/" + w.ID + "/rotate", header: once}).want(200, "")
	if rotated.webhook().Secret == w.Secret || string(again.body) != string(rotated.body) || again.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("rotateWebhook = %s, again %s", rotated.body, again.body)
	}
	if now := s.post("/webhooks/"+w.ID+"/replay", `{"after":2}`).want(200, "").webhook(); now.After != 2 {
		t.Errorf("replayWebhook left %+v", now)
	}
	s.del("/webhooks/"+w.ID).want(204, "")
	s.get("/webhooks/"+w.ID).want(404, "webhook_not_found")
}

// TestWebhookTestEnds: a test ends with its client.
func TestWebhookTestEnds(t *testing.T) {
	t.Parallel()
	s := openService(t)
	came, gone := make(chan struct{}), make(chan struct{})
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		close(came)
		<-r.Context().Done()
		close(gone)
	}))
	t.Cleanup(receiver.Close)
	w := s.post("/webhooks", `{"url":"`+receiver.URL+`"}`).want(201, "").webhook()
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/webhooks/"+w.ID+"/test", nil)
	must(t, err)
	q.Header.Set("Authorization", "Bearer "+s.key)
	left := make(chan error, 1)
	go func() {
		a, err := http.DefaultClient.Do(q)
		if err == nil {
			_ = a.Body.Close()
		}
		left <- err
	}()
	<-came
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("Do = %v, want that it was cancelled", err)
	}
	select {
	case <-gone:
	case <-time.After(10 * time.Second):
		t.Error("the receiver is still waited for after 10 s")
	}
}

func TestWebhookInput(t *testing.T) {
	t.Parallel()
	s := openService(t)
	s.addHook(s.workspace, sampleHook)
	const one = "/webhooks/" + sampleHook
	for _, c := range []struct{ method, path, body, pointer, code string }{
		{"POST", "/webhooks", `{}`, "/url", "required"},
		{"POST", "/webhooks", `{"url":7}`, "/url", "invalid_type"},
		{"POST", "/webhooks", `{"url":"https://user:pass@example.com/"}`, "/url", "invalid_format"},
		{"POST", "/webhooks", `{"url":"https://example.com/` + strings.Repeat("x", 2048) + `"}`, "/url", "too_long"},
		{"POST", "/webhooks", `{"url":"https://example.com/","types":[]}`, "/types", "too_short"},
		{"POST", "/webhooks", `{"url":"https://example.com/","types":["pet.sold"]}`, "/types/0", "invalid_enum"},
		{"POST", "/webhooks", `{"url":"https://example.com/","types":["pet.created","pet.created"]}`, "/types/1", "invalid_format"},
		{"POST", "/webhooks", `{"url":"https://example.com/","types":[` + strings.Repeat(`"x",`, 99) + `"x"]}`, "/types", "too_long"},
		{"POST", "/webhooks", `{"url":"https://example.com/","state":"paused"}`, "/state", "read_only"},
		{"POST", "/webhooks", `{"url":"https://example.com/","secret":"whsec_x"}`, "/secret", "read_only"},
		{"POST", "/webhooks", `{"url":"https://example.com/","description":"a\u0000b"}`, "/description", "invalid_format"},
		{"POST", "/webhooks", `{"url":"https://example.com/","description":"` + strings.Repeat("x", 501) + `"}`, "/description", "too_long"},
		{"PATCH", one, `{"url":null}`, "/url", "invalid_type"},
		{"PATCH", one, `{"state":"disabled"}`, "/state", "invalid_enum"},
		{"PATCH", one, `{"state":null}`, "/state", "invalid_type"},
		{"PATCH", one, `{"after":7}`, "/after", "read_only"},
		{"POST", one + "/replay", `{}`, "/after", "required"},
		{"POST", one + "/replay", `{"after":-1}`, "/after", "out_of_range"},
		{"POST", one + "/replay", `{"after":99}`, "/after", "out_of_range"},
	} {
		s.do(request{method: c.method, path: c.path, body: c.body}).want(400, "validation_failed").field(c.pointer, c.code)
	}
}
