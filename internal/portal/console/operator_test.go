package console_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/portal/console"
	"example.com/petstore/internal/ratelimit"
)

// operator returns a guest of the operator's console beside the house's own, and the link to sign in with.
func (h *house) operator() (g *guest, link string) {
	h.t.Helper()
	secret, err := h.db.Secret(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	pages, err := console.NewOperator(console.OperatorOptions{
		Access: h.db, Keys: h.keys, Limiter: h.limiter, Secret: secret, Now: h.now, Log: slog.New(slog.DiscardHandler),
		Health: func() []console.Figure { return []console.Figure{{Name: "store", Value: "on fire", Bad: true}} },
	})
	if err != nil {
		h.t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { pages.Serve(w, r, 0) }))
	h.t.Cleanup(server.Close)
	other := &house{t: h.t, url: server.URL}
	if link, err = console.OperatorPath(secret, h.now()); err != nil {
		h.t.Fatal(err)
	}
	return other.guest(), link
}

func TestOperatorSignsIn(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	k, _ := h.key(h.workspace("shop"), access.Read|access.Write, time.Time{})
	g, link := h.operator()
	g.get("/console").leadsTo("/console/signin?next=%2Fconsole")
	g.get("/console/signin").want(200, "petstore operator login")
	token := strings.TrimPrefix(link, "/console/link?token=")
	// A link of a workspace is none of the operator's, and the other way round.
	g.post("/console/link", "token", strings.TrimPrefix(h.console.SignInPath(k.ID), "/console/link?token=")).want(410, "ended")
	h.guest().post("/console/link", "token", token).want(410, "has been used")
	g.get(link).want(200, "Sign in to the console")
	g.post("/console/link", "token", token).leadsTo("/console")
	g.get("/console").want(200, "shop")
	g.post("/console/link", "token", token).want(410, "ended")
	g.get("/console/pets").want(404, "no such page")
	h.advance(12 * time.Hour)
	g.get("/console/bans").leadsTo("/console/signin?next=%2Fconsole%2Fbans")
}

// TestOperator: plans change, bans are lifted, and the audit log says so.
func TestOperator(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := h.workspace("shop")
	k, secret := h.key(w, access.Read|access.Write, time.Time{})
	g, link := h.operator()
	g.post("/console/workspaces/1", "plan", "pro").leadsTo("/console/signin")
	g.post("/console/link", "token", strings.TrimPrefix(link, "/console/link?token=")).leadsTo("/console")

	g.post("/console/workspaces/1", "plan", "enterprise", "perMinute", "x", "perDay", "9").want(422, "whole number")
	g.post("/console/workspaces/1", "plan", "enterprise", "perMinute", "0", "perDay", "9").want(422, "needs its requests per minute")
	g.post("/console/workspaces/1", "plan", "gold").want(422, "no plan")
	g.post("/console/workspaces/9", "plan", "pro").want(404, "Not found")
	g.post("/console/workspaces/1", "plan", "pro").leadsTo("/console")
	g.get("/console").want(200, "The plan of shop is now pro")
	entry, err := h.keys.Verify(secret)
	if err != nil || entry.Workspace.Quota.PerMinute != 300 {
		t.Errorf("after the change of plan the key has %+v, %v", entry, err)
	}
	h.limiter.Admit(t.Context(), entry.Slot)
	g.get("/console/busy").want(200, "shop")

	ban := access.Ban{KeyID: k.ID, From: h.now(), Until: h.now().Add(time.Hour), Level: 3, Reason: "<b>too fast</b>", By: ratelimit.ByLimiter}
	if err := h.db.SetBan(t.Context(), ban, "limiter"); err != nil {
		t.Fatal(err)
	}
	h.refresh()
	g.get("/console/bans").want(200, "&lt;b&gt;too fast")
	g.get("/console/bans/"+k.ID).want(200, "next ban is longer")
	g.post("/console/bans/" + k.ID).leadsTo("/console/bans")
	g.get("/console/bans").want(200, "No key is banned")
	g.post("/console/bans/"+k.ID).want(404, "not banned")
	g.get("/console/health").want(200, "on fire")
	g.get("/console/audit").want(200, "ban.lift").want(200, "workspace.set_plan").want(200, "<code>operator</code>")
	g.post("/console/signout").leadsTo("/console/signin")
	g.get("/console/audit").leadsTo("/console/signin?next=%2Fconsole%2Faudit")
}
