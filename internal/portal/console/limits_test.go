package console_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/ratelimit"
)

// limited returns a house with the limits that a service has, and a session of a workspace on the free plan.
func limited(t *testing.T) (*house, access.Workspace, *guest, access.Key) {
	t.Helper()
	h := buildHouse(t, ratelimit.DefaultConfig(), 0)
	w := h.planned("shop", access.Free, access.FreeQuota)
	k, secret := h.key(w, access.Read|access.Write|access.Manage, time.Time{})
	g := h.guest()
	g.post("/console/signin", "key", secret).leadsTo("/console")
	return h, w, g, k
}

// refused holds that a page says why and until when, and the header how long.
func (a answer) refused(status int, why, retryAfter string) answer {
	a.t.Helper()
	a.want(status, why)
	if got := a.header.Get("Retry-After"); got != retryAfter {
		a.t.Errorf("%s: Retry-After %q, want %s", a.what, got, retryAfter)
	}
	if status == http.StatusTooManyRequests {
		a.want(status, "Try again after <strong><time datetime=")
	}
	if remaining := a.header["X-Ratelimit-Remaining"]; len(remaining) != 1 || remaining[0] != "0" {
		a.t.Errorf("%s: X-RateLimit-Remaining %q, want 0", a.what, remaining)
	}
	return a
}

// used returns what the plan has counted in the minute.
func (h *house) used(k access.Key) int64 {
	h.t.Helper()
	return h.limiter.Peek(h.keys.Entry(k.ID).Attachment).Minute.Used
}

// TestFormsCount: orders from a form are requests of the plan, and so are those that fail; pages to look at are not.
func TestFormsCount(t *testing.T) {
	t.Parallel()
	h, w, g, k := limited(t)
	g.get("/console/pets/1").want(200, "Rex")
	g.post("/console/pets/1/stock", "quantity", "1000000").leadsTo("/console/pets/1")
	g.post("/console/pets/99/delete").want(404, "Not found")
	for range 58 {
		g.post("/console/orders/new", "petId", "1", "quantity", "1").want(303, "")
	}
	if got := h.used(k); got != 60 {
		t.Fatalf("the plan counted %d requests, want 60", got)
	}
	for _, path := range []string{"/console/orders/new", "/console/keys/new", "/console/pets/1/delete"} {
		a := g.post(path, "petId", "1", "quantity", "1", "name", "x", "scopes", "read", "expiresAt", "0").refused(429, "The requests of this minute are used up", "60")
		if !strings.Contains(a.body, "Nothing was changed") || a.header.Get("Content-Security-Policy") == "" {
			t.Errorf("the refusal says %s", a.body)
		}
	}
	g.get("/console/pets.csv").want(200, "Rex")
	g.get("/console/orders").want(200, "The requests of this minute are used up")
	orders, err := h.shop.Orders(t.Context(), w.ID, petstore.OrderQuery{Page: petstore.Page{Limit: 100}})
	if err != nil || len(orders) != 58 {
		t.Errorf("there are %d orders, %v, want 58", len(orders), err)
	}
	h.clock.Advance(time.Minute)
	g.post("/console/orders/new", "petId", "1", "quantity", "1").leadsTo("/console/orders/59")
}

// TestFormsBan: who goes on after refusals is banned, as with the API, and then downloads nothing either.
func TestFormsBan(t *testing.T) {
	t.Parallel()
	h, _, g, k := limited(t)
	for range 60 {
		h.limiter.Admit(h.keys.Entry(k.ID).Attachment)
	}
	g.post("/console/pets/1/stock", "quantity", "1").refused(429, "this minute", "60")
	h.clock.Advance(3 * time.Second)
	for range 20 {
		g.post("/console/pets/1/stock", "quantity", "1").want(429, "")
	}
	for _, path := range []string{"/console/pets.csv", "/console/keys.csv"} {
		g.get(path).refused(429, "This key is banned", "120")
	}
	g.post("/console/keys/"+k.ID+"/rotate", "overlap", "24").refused(429, "You can still look at these pages, but change or download nothing", "120")
	g.get("/console/pets").want(200, "This key is banned")
	g.get("/console/pets/1").want(200, `<span class="hint">This key is banned.</span>`)
}

// TestPagesHaveTheirOwn: a workspace reads sixty pages and downloads a minute from an address, whatever its plan, however many
// sessions it has, and however long the files are.
func TestPagesHaveTheirOwn(t *testing.T) {
	t.Parallel()
	h, w, g, k := limited(t)
	for i := range 249 {
		must(t, errOf(h.shop.CreatePet(t.Context(), w.ID, petstore.NewPet{Name: fmt.Sprint("Pet ", i), CategoryID: 1}, nil)))
	}
	other := h.signedIn(w, access.Read)
	paths := map[string]int{"/console/pets": 200, "/console/nothing": 404, "/console/pets.csv": 200, "/console/categories": 200}
	for range 15 {
		for path, want := range paths {
			g.get(path).want(want, "")
			g, other = other, g
		}
	}
	for _, who := range []*guest{g, other} {
		who.get("/console/pets").refused(429, "From one address 60 pages and downloads", "60")
		if a := who.get("/console/pets.csv").refused(429, "Too many pages", "60"); a.header.Get("Content-Disposition") != "" {
			t.Error("the refusal of a download is a download")
		}
	}
	if got := h.used(k); got != 0 {
		t.Errorf("pages and downloads counted %d requests of the plan, want none", got)
	}
	stranger := h.signedIn(h.workspace("other"), access.Read)
	stranger.get("/console/pets").want(200, "")
	h.signedIn(w, access.Read|access.Write).post("/console/pets/1/stock", "quantity", "3").leadsTo("/console/pets/1")
	if got := h.used(k); got != 1 {
		t.Errorf("a form counted %d requests of the plan, want 1", got)
	}
	g.post("/console/signout").leadsTo("/console/signin")
	h.clock.Advance(time.Minute)
	other.get("/console/pets.csv").want(200, "Pet 248")
}

// TestFollows: the script asks again for the page that is shown. That takes nothing of the pages that are looked at, nor what is said
// on the next one, and it learns when the session has ended.
func TestFollows(t *testing.T) {
	t.Parallel()
	h, _, g, k := limited(t)
	follow := func(path string) answer { return g.get(path, "Petstore-Live", "1") }
	g.post("/console/pets/1/stock", "quantity", "3").leadsTo("/console/pets/1")
	for range 60 {
		if a := follow("/console").want(200, "Overview"); strings.Contains(a.body, "The stock was set") {
			t.Fatal("the page says what is for another")
		}
	}
	follow("/console/requests").refused(429, "Too many pages", "60")
	g.get("/console/pets/1").want(200, "The stock was set to 3")
	h.revoke(k.ID)
	if a := follow("/console/requests").want(401, ""); a.header.Get("Set-Cookie") != "" {
		t.Errorf("the script is told to keep %q", a.header.Get("Set-Cookie"))
	}
	g.get("/console/requests").leadsTo("/console/signin?next=%2Fconsole%2Frequests")
	g.get("/console/signin").want(200, "no longer valid")
}

// TestGrants: a key that ends makes none that outlives it, by making or by rotating.
func TestGrants(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := h.workspace("shop")
	_, secret := h.key(w, access.Read|access.Write|access.Manage, h.clock.Now().Add(36*time.Hour))
	g := h.guest()
	g.post("/console/signin", "key", secret).leadsTo("/console")
	if a := g.get("/console/keys/new").want(200, `value="24"`); strings.Contains(a.body, "never") || strings.Contains(a.body, `value="168"`) {
		t.Errorf("a key of 36 hours is offered more:\n%s", a.body)
	}
	g.post("/console/keys/new", "name", "x", "scopes", "read", "expiresAt", "168").want(422, "no choice")
	made, err := h.keys.Verify(secretIn.FindString(g.post("/console/keys/new", "name", "x", "scopes", "read", "expiresAt", "0").want(200, "Copy it now").body))
	if err != nil || !made.Key.ExpiresAt.Equal(h.clock.Now().Add(36*time.Hour)) {
		t.Errorf("the new key is %+v, %v, want one that ends with its maker", made, err)
	}
	forever, _ := h.key(w, access.Read, time.Time{})
	g.post("/console/keys/"+forever.ID+"/rotate", "overlap", "0").want(422, "lasts longer than the key that you use")
	g.post("/console/keys/"+made.Key.ID+"/rotate", "overlap", "0").want(200, "Copy it now")
}

// TestStandingIsTrue: what is said of a key is what the next request meets: its ban, its windows, or the later of them.
func TestStandingIsTrue(t *testing.T) {
	t.Parallel()
	h, _, g, k := limited(t)
	until := func(at time.Time) string {
		return `until <time datetime="` + at.Format(time.RFC3339) + `"`
	}
	g.get("/console").want(200, `role="alert" hidden="hidden"><strong></strong>`)
	ban := access.Ban{KeyID: k.ID, From: h.clock.Now(), Until: h.clock.Now().Add(3 * time.Minute), Reason: "test", By: ratelimit.ByOperator}
	h.ban(ban)
	g.get("/console").want(200, "<strong>This key is banned</strong> "+until(ban.Until))
	must(t, access.LiftBan(t.Context(), h.db, k.ID, "test"))
	h.refresh()
	g.get("/console").want(200, `role="alert" hidden="hidden"><strong></strong>`)
	for i := range 1000 { // the whole day
		if i%60 == 0 {
			h.clock.Advance(time.Minute)
		}
		h.limiter.Admit(h.keys.Entry(k.ID).Attachment)
	}
	midnight := h.clock.Now().Truncate(24 * time.Hour).Add(24 * time.Hour)
	g.get("/console").want(200, "<strong>The requests of this day are used up</strong> "+until(midnight))
	ban.Until = h.clock.Now().Add(3 * time.Minute)
	h.ban(ban)
	g.get("/console").want(200, "<strong>The requests of this day are used up</strong> "+until(midnight))
	ban.Until = midnight.Add(time.Hour)
	h.ban(ban)
	g.get("/console").want(200, "<strong>This key is banned</strong> "+until(ban.Until))
}

// TestLiftOfExpiredKey: an operator is told when a ban ends, though the key's state is another.
func TestLiftOfExpiredKey(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	k, _ := h.key(h.workspace("shop"), access.Read, h.clock.Now().Add(time.Minute))
	h.ban(access.Ban{KeyID: k.ID, From: h.clock.Now(), Until: h.clock.Now().Add(time.Hour), Reason: "test", By: ratelimit.ByOperator})
	h.clock.Advance(2 * time.Minute)
	h.signedInOperator().get("/console/bans/"+k.ID).want(200, "expired").want(200, "Banned until").want(200, `datetime="2026-03-01T13:00:00Z"`)
}

// keep returns a guest with the cookies that g has now, as a thief would have them.
func (g *guest) keep() *guest {
	other := g.guest()
	at, _ := url.Parse(g.url + "/console")
	other.client.Jar.SetCookies(at, g.client.Jar.Cookies(at))
	return other
}

// TestSignOutEndsTheSession: a cookie that was kept is worthless afterwards, on every node.
func TestSignOutEndsTheSession(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := h.workspace("shop")
	_, secret := h.key(w, access.Read|access.Write|access.Manage, time.Time{})
	var all []*guest
	for range 3 {
		g := h.guest()
		g.post("/console/signin", "key", secret).leadsTo("/console")
		all = append(all, g)
	}
	stranger := h.signedIn(w, access.Read)
	thief := all[0].keep()
	thief.get("/console").want(200, "Overview")
	all[0].post("/console/signout").leadsTo("/console/signin")
	thief.get("/console", "Petstore-Live", "1").want(401, "")
	thief.get("/console/pets").leadsTo("/console/signin?next=%2Fconsole%2Fpets")
	all[0].keep().post("/console/pets/1/stock", "quantity", "9").leadsTo("/console/signin?next=%2Fconsole%2Fpets%2F1%2Fstock")
	all[1].get("/console").want(200, "Sign out everywhere")

	thief = all[1].keep()
	all[2].post("/console/signout/everywhere").leadsTo("/console/signin")
	all[2].get("/console/signin").want(200, "signed out everywhere")
	thief.get("/console").leadsTo("/console/signin?next=%2Fconsole")
	stranger.get("/console").want(200, "Overview")
}

// TestKeysArePaged: a workspace with a long history has short pages, and no more than a hundred live keys.
func TestKeysArePaged(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := h.workspace("shop")
	g := h.signedIn(w, access.Read|access.Write|access.Manage)
	for range access.MaxKeys - 1 {
		h.key(w, access.Read, time.Time{})
	}
	a := g.post("/console/keys/new", "name", "one more", "scopes", "read", "expiresAt", "0").want(422, "has 100 live keys")
	a.want(422, `value="one more"`)
	pages, seen := 0, 0
	for next := "/console/keys"; next != ""; pages++ {
		a := g.get(next).want(200, "")
		seen += strings.Count(a.body, ">Revoke</a>")
		m := regexp.MustCompile(`rel="next" href="([^"]+)"`).FindStringSubmatch(a.body)
		if next = ""; m != nil {
			next = strings.ReplaceAll(m[1], "&amp;", "&")
		}
	}
	if pages != 4 || seen != access.MaxKeys {
		t.Errorf("%d pages show %d keys, want 4 with %d", pages, seen, access.MaxKeys)
	}
	if a := g.get("/console/keys.csv").want(200, ""); strings.Count(a.body, "\n") != access.MaxKeys+1 {
		t.Errorf("the CSV has %d lines, want %d", strings.Count(a.body, "\n"), access.MaxKeys+1)
	}
}

// TestOldNames: a name that was kept before names were checked turns nothing on the page.
func TestOldNames(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	g := h.signedIn(h.workspace("shop\u202egnp"), access.Read|access.Write|access.Manage)
	if a := g.get("/console/keys").want(200, `shop\u202egnp`); strings.Contains(a.body, "\u202e") {
		t.Error("the page has the override itself")
	}
	if a := h.signedInOperator().get("/console/workspaces").want(200, `shop\u202egnp`); strings.Contains(strings.ReplaceAll(a.body, "%e2%80%ae", ""), "\u202e") {
		t.Error("the operator's page has the override itself")
	}
	g.post("/console/keys/new", "name", "till\u202egnp", "scopes", "read", "expiresAt", "0").want(422, "202E, a control or format character")
}
