package console_test

import (
	"encoding/csv"
	"regexp"
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/usage"
)

// TestWorkspacePage: an operator makes a workspace and a key to it, and sees on the workspace's page what became of it.
func TestWorkspacePage(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.workspace("other")
	g := h.signedInOperator()
	g.post("/console/workspaces/new", "name", " ", "plan", "free").want(422, "at least 1")
	g.post("/console/workspaces/new", "name", "other", "plan", "free").want(422, "already a workspace")
	g.post("/console/workspaces/new", "name", "Corner <b>shop</b>", "plan", "enterprise", "perMinute", "2", "perDay", "50").leadsTo("/console/workspaces/2/owner")
	g.get("/console/workspaces/2").want(200, "It has no keys").want(200, "Corner &lt;b&gt;shop").want(200, "2 requests a minute, 50 a day")
	g.post("/console/workspaces/2/keys/new", "name", "till", "expiresAt", "24").want(422, "scope")
	g.post("/console/workspaces/2/keys/new", "name", "till", "scopes", "read", "expiresAt", "7").want(422, "no choice")
	made := g.post("/console/workspaces/2/keys/new", "name", "till", "scopes", "read", "expiresAt", "24").want(200, "The new key").body
	secret := regexp.MustCompile(`pst_[0-9A-Za-z]+`).FindString(made)
	entry, err := h.keys.Verify(secret)
	if err != nil || entry.Key.Scopes != access.Read || !entry.Key.ExpiresAt.Equal(h.clock.Now().Add(24*time.Hour)) {
		t.Fatalf("the key that was shown is %+v, %v", entry, err)
	}
	for range 2 {
		h.limiter.Admit(entry.Attachment)
	}
	h.usage.Record(2, usage.Event{At: h.clock.Now(), Method: "GET", Path: "/pets", Status: 429, Code: "rate_limited", KeyID: entry.Key.ID})
	g.get("/console/workspaces/2").want(200, "Over quota: the limit of 2 requests a minute is used up").want(200, "rate_limited").want(200, `datetime="2026-03-02T12:00:00Z"`)

	h.ban(access.Ban{KeyID: entry.Key.ID, From: h.clock.Now(), Until: h.clock.Now().Add(time.Hour), Level: 1, Reason: "too <i>fast</i>", By: "cli"})
	g.get("/console/workspaces/2").want(200, "too &lt;i&gt;fast&lt;/i&gt;, until").want(200, `href="/console/bans/`+entry.Key.ID).want(200, ">"+entry.Key.ID+"<")
	g.post("/console/bans/" + entry.Key.ID).leadsTo("/console/bans")
	page := g.get("/console/workspaces/2").body
	for _, action := range []string{"workspace.create", "key.create", "ban.lift"} {
		if !strings.Contains(page, "<code>"+action+"</code>") {
			t.Errorf("the page of the workspace does not tell of %s", action)
		}
	}
	g.get("/console/workspaces/9").want(404, "Not found")
	g.get("/console/workspaces/x").want(404, "Not found")
}

// TestOverQuota: which workspaces are over their quota is said, and sorted by.
func TestOverQuota(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for i, name := range []string{"calm", "minute", "zealous"} {
		quota := []access.Quota{{PerMinute: 60, PerDay: 1000}, {PerMinute: 5, PerDay: 1000}, {PerMinute: 60, PerDay: 5}}[i]
		_, secret := h.key(h.planned(name, access.Enterprise, quota), access.Read, time.Time{})
		entry, err := h.keys.Verify(secret)
		must(t, err)
		for range 5 {
			h.limiter.Admit(entry.Attachment)
		}
	}
	must(t, h.limiter.Save(t.Context(), h.db))
	g := h.signedInOperator()
	names := regexp.MustCompile(`class="name"><bdi>(\w+)<`)
	for query, want := range map[string]string{"": "calm minute zealous", "?sort=use": "zealous minute calm", "?sort=use&name=MIN": "minute"} {
		var got []string
		for _, m := range names.FindAllStringSubmatch(g.get("/console/workspaces"+query).want(200, "over quota</span> <small>").body, -1) {
			got = append(got, m[1])
		}
		if strings.Join(got, " ") != want {
			t.Errorf("the list %q has %q, want %s", query, got, want)
		}
	}
	for _, query := range []string{"", "&sort=use", "&name=min"} { // behind the last page
		g.get("/console/workspaces?from=9223372036854775807"+query).want(200, "First page")
	}
	for _, query := range []string{"plan=gold", "sort=age"} {
		name, _, _ := strings.Cut(query, "=")
		g.get("/console/workspaces?"+query).want(422, "Nothing is shown").faultAt(name, "no choice")
	}
	g.get("/console").want(200, "2 over quota")
}

// TestAudit: the log names what it is about, is filtered by names too, has pages, and can be taken along.
func TestAudit(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	shop, zoo := h.workspace("shop"), h.workspace("zoo")
	k, _ := h.key(shop, access.Read, time.Time{})
	for range 60 {
		h.key(zoo, access.Read, time.Time{})
	}
	must(t, h.db.Note(t.Context(), access.AuditEntry{Actor: access.Actor("console:" + k.ID), Action: "console.sign_in", Workspace: shop.ID, Subject: k.ID, Detail: "=by a link"}))
	g := h.signedInOperator()
	g.get("/console/audit").want(200, "console:till of shop").want(200, `rel="next"`).want(200, "data-live")
	g.get("/console/audit?text=OF+SHOP&action=console").want(200, "console:till of shop").want(200, "Clear")
	g.get("/console/audit?text=nobody").want(200, "Nothing matches")
	g.get("/console/audit?action=x").want(422, "Nothing is shown").faultAt("action", "no choice")
	g.get("/console/audit.csv?action=x").want(422, "no choice")
	g.get("/console/audit?workspace=1").want(200, "done to the workspace shop")
	if body := g.get("/console/audit?workspace=1").body; strings.Contains(body, "of zoo") || !strings.Contains(body, "workspace.create") {
		t.Errorf("the log of one workspace is\n%s", body)
	}
	next := regexp.MustCompile(`href="(/console/audit\?before=\d+)"`).FindStringSubmatch(g.get("/console/audit").body)
	if next == nil {
		t.Fatal("there is no next page")
	}
	g.get(next[1]).want(200, "workspace.create").want(200, `rel="first"`)

	rows, err := csv.NewReader(strings.NewReader(g.get("/console/audit.csv?text=shop").body)).ReadAll()
	if err != nil || len(rows) != 4 || rows[1][3] != "console:till of shop" || rows[1][7] != "'=by a link" {
		t.Errorf("the CSV is %q, %v", rows, err)
	}
}

// TestTimesAreInstants: a script sends instants; the page takes a date as one of UTC.
func TestTimesAreInstants(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	_, secret := h.key(h.workspace("shop"), access.Read|access.Write, time.Time{})
	g := h.guest()
	g.post("/console/signin", "key", secret).leadsTo("/console")
	g.post("/console/orders/new", "petId", "1", "quantity", "x", "shipDate", "2026-03-05T18:30:00.000Z").want(422, `value="2026-03-05T18:30"`)
	g.post("/console/orders/new", "petId", "1", "quantity", "1", "shipDate", "2026-03-05T18:30:00.000Z").leadsTo("/console/orders/1")
	for query, want := range map[string]string{
		"from=2026-03-05": "#1", "from=2026-03-06": "Nothing matches", "to=2026-03-05": "#1", "to=2026-03-04": "Nothing matches",
		"from=2026-03-05T18:30:00.000Z": `data-at="2026-03-05T18:30:00Z"`, "from=2026-03-05T18:30:00.001Z": "Nothing matches", "to=2026-03-05T18:29:59.999Z": "Nothing matches",
	} {
		g.get("/console/orders?"+query).want(200, want)
	}
}

// TestOwnerIsLetIn: an operator makes a workspace and a link, by which its owner signs in once and gets a key. Who sends the
// same page again is shown the same key; the link is of no use to anybody else.
func TestOwnerIsLetIn(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.workspace("other")
	g, link := h.operator()
	g.post("/console/link", "token", strings.TrimPrefix(link, "/console/link?token=")).leadsTo("/console")
	to := g.post("/console/workspaces/new", "name", "acme & sons", "plan", "pro").want(303, "").header.Get("Location")
	g.get(to).want(200, "Let the owner in").want(200, "acme &amp; sons")
	ownerLink := regexp.MustCompile(regexp.QuoteMeta(h.url) + `(/console/link\?token=[\w-]+)`)
	made := func() (path string) {
		t.Helper()
		return ownerLink.FindStringSubmatch(g.post(to).want(200, "within 7 days").body)[1]
	}
	path, late := made(), made()
	open := func(one *guest, path string) []string {
		t.Helper()
		fields := []string{}
		for _, field := range hiddenIn.FindAllStringSubmatch(one.get(path).want(200, "You get a key of your own").body, -1) {
			fields = append(fields, field[1], field[2])
		}
		return fields
	}
	owner, thief := h.guest(), h.guest()
	form, other := open(owner, path), open(thief, path)
	first := secretIn.FindString(owner.post("/console/link", form...).want(200, "Your key to acme &amp; sons").want(200, h.url+"/pets?limit=3").body)
	again := secretIn.FindString(owner.post("/console/link", form...).want(200, "Your key to acme").body)
	thief.post("/console/link", other...).want(410, "has been used")
	thief.get("/console").leadsTo("/console/signin?next=%2Fconsole")
	owner.get("/console").want(200, "acme &amp; sons").want(200, "Create a key for your program")
	entry, err := h.keys.Verify(first)
	if err != nil || again != first || entry.Workspace.Name != "acme & sons" || entry.Key.Scopes != access.Read|access.Write|access.Manage || !entry.Key.ExpiresAt.IsZero() {
		t.Fatalf("the keys are %q and %q, %+v, %v", first, again, entry, err)
	}
	if keys, err := h.db.KeyPage(t.Context(), entry.Workspace.ID, access.KeyPage{Limit: 100}); err != nil || len(keys) != 1 {
		t.Errorf("the keys are %+v, %v, want one", keys, err)
	}
	g.get("/console/audit").want(200, "workspace.link").want(200, "workspace.owner").want(200, "let in by a link")
	h.clock.Advance(7 * 24 * time.Hour)
	h.guest().get(late).want(410, "its time is over")
}
