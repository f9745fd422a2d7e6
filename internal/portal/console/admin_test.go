package console_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/portal/admin"
	"example.com/petstore/internal/ratelimit"
)

// operatorPages returns the pages of an operator's console beside the house's own.
func (h *house) operatorPages() *admin.Console {
	h.t.Helper()
	secret, err := h.db.Secret(h.t.Context())
	must(h.t, err)
	pages, err := admin.New(admin.Options{
		Page: h.pages(secret), Public: h.url,
		Health: func() []admin.Figure {
			return []admin.Figure{{Name: "service", Value: "ready", State: true}, {Name: "store", Value: "on fire", State: true, Bad: true}, {Name: "writes", Value: "9"}}
		},
	})
	must(h.t, err)
	return pages
}

// officeSession returns such pages, and the cookie of who is signed in there.
func (h *house) officeSession() (pages http.Handler, cookie string) {
	h.t.Helper()
	pages = h.operatorPages()
	link, err := admin.SignInPath(h.t.Context(), h.db, h.clock.Now(), "cli")
	must(h.t, err)
	w := serve(pages, http.MethodPost, "/console/link", "", strings.TrimPrefix(link, "/console/link?"))
	if cookie, _, _ = strings.Cut(w.Header().Get("Set-Cookie"), ";"); w.Code != http.StatusSeeOther {
		h.t.Fatalf("signing in answers %d", w.Code)
	}
	return pages, cookie
}

// office returns the address of an operator's console beside the house's own, as each node and each start has one.
func (h *house) office() *house {
	h.t.Helper()
	server := httptest.NewServer(h.operatorPages())
	h.t.Cleanup(server.Close)
	return &house{t: h.t, url: server.URL}
}

// acting returns a guest of the operator's console, and the link to sign in with.
func (h *house) operator() (g *guest, link string) {
	h.t.Helper()
	link, err := admin.SignInPath(h.t.Context(), h.db, h.clock.Now(), "cli")
	must(h.t, err)
	return h.office().guest(), link
}

// signedInOperator returns a guest who is signed in.
func (h *house) signedInOperator() *guest {
	h.t.Helper()
	g, link := h.operator()
	g.post("/console/link", "token", strings.TrimPrefix(link, "/console/link?token=")).leadsTo("/console")
	return g
}

// audited returns the actions of the latest entries, the newest first.
func (h *house) audited(most int) string {
	h.t.Helper()
	entries, err := h.db.AuditPage(h.t.Context(), 0, 0, most)
	must(h.t, err)
	var all []string
	for _, e := range entries {
		all = append(all, string(e.Actor)+" "+e.Action)
	}
	return strings.Join(all, ", ")
}

func TestOperatorSignsIn(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	k, _ := h.key(h.workspace("shop"), access.Read|access.Write|access.Manage, time.Time{})
	g, link := h.operator()
	g.get("/console").leadsTo("/console/signin?next=%2Fconsole")
	g.get("/console/signin").want(200, "petstore operator login")
	token := strings.TrimPrefix(link, "/console/link?token=")
	// A link of a workspace is none of the operator's, and the other way round.
	g.post("/console/link", "token", strings.TrimPrefix(h.console.SignInPath(k.ID), "/console/link?token=")).want(410, "ended")
	h.guest().post("/console/link", "token", token).want(410, "has been used")
	g.get(link).want(200, "Sign in to the console")
	g.post("/console/link", "token", token).leadsTo("/console")
	g.get("/console/workspaces").want(200, "shop")
	g.post("/console/link", "token", token).want(410, "ended")
	g.get("/console/pets").want(404, "no such page")
	if got, want := h.audited(3), "operator operator.sign_in, cli operator.link, test key.create"; got != want {
		t.Errorf("the audit log says %s, want %s", got, want)
	}
	h.clock.Advance(12 * time.Hour)
	g.get("/console/bans").leadsTo("/console/signin?next=%2Fconsole%2Fbans")
}

// TestOperator: plans change, bans are lifted, and the audit log says so.
func TestOperator(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := h.workspace("shop")
	k, secret := h.key(w, access.Read|access.Write|access.Manage, time.Time{})
	g, link := h.operator()
	g.post("/console/workspaces/1/plan", "plan", "pro").leadsTo("/console/signin?next=%2Fconsole%2Fworkspaces%2F1%2Fplan")
	g.post("/console/link", "token", strings.TrimPrefix(link, "/console/link?token=")).leadsTo("/console")

	g.post("/console/workspaces/1/plan", "plan", "enterprise", "perMinute", "x", "perDay", "9").want(422, "whole number")
	g.post("/console/workspaces/1/plan", "plan", "enterprise").want(422, `id="h-perMinute">the enterprise plan needs its requests per minute and per day`)
	g.post("/console/workspaces/1/plan", "plan", "enterprise", "perMinute", "0", "perDay", "9").want(422, "needs its requests per minute")
	g.post("/console/workspaces/1/plan", "plan", "gold").want(422, "no plan")
	g.post("/console/workspaces/9/plan", "plan", "pro").want(404, "Not found")
	for number, fault := range map[string]string{"500": "the numbers of the pro plan are fixed at 300 a minute and 10000 a day; only enterprise has its own.", "of enterprise": "Enter a whole number."} {
		g.post("/console/workspaces/1/plan", "plan", "pro", "perMinute", number).want(422, `id="h-perMinute">`+fault).want(422, `value="`+number+`"`)
	}
	g.post("/console/workspaces/1/plan", "plan", "pro", "perMinute", "1000000000").leadsTo("/console/workspaces/1") // what the form came with
	g.get("/console/workspaces").want(200, "The plan of shop is now pro")
	entry, err := h.keys.Verify(secret)
	if err != nil || entry.Workspace.Quota.PerMinute != 300 {
		t.Errorf("after the change of plan the key has %+v, %v", entry, err)
	}
	h.request(entry)
	g.get("/console").want(200, "No key was used today")
	h.save()
	g.get("/console").want(200, "No key was used today") // what was read is kept for five seconds
	h.clock.Advance(5 * time.Second)
	g.get("/console").want(200, "till</bdi>").want(200, ">shop<").want(200, `datetime="2026-03-01T12:00:00Z"`)

	ban := access.Ban{KeyID: k.ID, From: h.clock.Now(), Until: h.clock.Now().Add(time.Hour), Level: 3, Reason: "<b>too fast</b>", By: ratelimit.ByLimiter}
	h.ban(ban)
	g.get("/console/bans").want(200, "&lt;b&gt;too fast")
	if a := g.get("/console/bans/"+k.ID).want(200, "next ban is longer"); strings.Count(a.body, `datetime="`+ban.Until.Format(time.RFC3339)) != 1 {
		t.Errorf("the page does not say once when the ban ends:\n%s", a.body)
	}
	g.post("/console/bans/" + k.ID).leadsTo("/console/bans")
	g.get("/console/bans").want(200, "No key is banned")
	g.post("/console/bans/"+k.ID).want(404, "not banned")
	g.get("/console/health").want(200, `<tbody role="rowgroup"><tr role="row"><td role="cell" data-label="Part">store`).want(200, "on fire").want(200, `<span class="badge active">ready`)
	g.get("/console/audit").want(200, "ban.lift").want(200, "workspace.set_plan").want(200, "till of shop")
	thief := g.keep()
	g.post("/console/signout/everywhere").leadsTo("/console/signin")
	if got, want := h.audited(1), "operator operator.sign_out"; got != want {
		t.Errorf("the audit log says %s, want %s", got, want)
	}
	for _, one := range []*guest{g, thief} {
		one.get("/console/audit").leadsTo("/console/signin?next=%2Fconsole%2Faudit")
	}
}

// TestLinkIsUsedOnce: also on another node, after a restart, and as another text for the same bytes.
func TestLinkIsUsedOnce(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	g, link := h.operator()
	token := strings.TrimPrefix(link, "/console/link?token=")
	g.post("/console/link", "token", token).leadsTo("/console")
	for what, again := range map[string]string{"itself": token, "with a line break": token[:9] + "\n" + token[9:]} {
		h.office().guest().post("/console/link", "token", again).want(410, "ended")
		g.post("/console/link", "token", again).want(410, "ended")
		if got, want := h.audited(1), "operator operator.sign_in"; got != want {
			t.Errorf("after the link %s was used again the audit log says %s, want %s", what, got, want)
		}
	}
}

// TestInstallation: the operator's overview shows which keys are in use, and how the node stands; the list of workspaces
// what each of them used, also without a live key.
func TestInstallation(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for i, name := range []string{"shop", "zoo"} {
		k, secret := h.key(h.planned(name, access.Free, access.FreeQuota), access.Read|access.Write|access.Manage, time.Time{})
		entry, err := h.keys.Verify(secret)
		must(t, err)
		for range 11 * (i + 1) {
			h.limiter.Admit(entry.Attachment)
		}
		if name == "zoo" {
			h.revoke(k.ID)
			h.keys.Entry(k.ID) // which finds it gone
		}
	}
	g := h.signedInOperator()
	g.get("/console").want(200, "store: on fire").want(200, "1 key in use<")
	// The free plan admits 1,000 a day.
	if a := g.get("/console/workspaces?name=ZO&plan=free").want(200, "zoo"); strings.Contains(a.body, ">shop<") {
		t.Errorf("the filter lets others through:\n%s", a.body)
	}
	g.get("/console/workspaces?plan=pro").want(200, "Nothing matches these filters")
	g.get("/console/workspaces").want(200, "<span>22 <small>of 1,000</small></span>").want(200, "<span>11 <small>of 60</small></span>")
}

// TestManyWorkspaces: their list has pages.
func TestManyWorkspaces(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for i := range 60 {
		must(t, errOf(h.db.CreateWorkspace(t.Context(), access.Workspace{Name: fmt.Sprintf("shop-%02d", i), Plan: access.Free, Quota: access.FreeQuota}, "test")))
	}
	g := h.signedInOperator()
	for from, want := range map[string][2]string{"": {"shop-00", "shop-24"}, "25": {"shop-25", "shop-49"}, "50": {"shop-50", "shop-59"}} {
		a := g.get("/console/workspaces?from="+from).want(200, "<bdi>"+want[0]).want(200, "<bdi>"+want[1])
		if last := want[1] == "shop-59"; strings.Contains(a.body, `rel="next"`) == last || strings.Contains(a.body, `rel="first"`) != (from != "") {
			t.Errorf("the page from %q leads on wrongly:\n%s", from, a.body)
		}
	}
	g.get("/console").want(200, `<strong>60</strong>`)
}
