package console_test

import (
	"context"
	"encoding/csv"
	"fmt"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/httpapi"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/portal/console"
	"example.com/petstore/internal/portal/page"
	"example.com/petstore/internal/ratelimit"
	"example.com/petstore/internal/store/sqlite"
	"example.com/petstore/internal/store/storetest"
	"example.com/petstore/internal/usage"
	"example.com/petstore/internal/webhook"
)

// A house is a console on a real store, whose clock is set by hand.
type house struct {
	t       testing.TB
	db      *sqlite.DB
	shop    *petstore.Service
	keys    *access.Directory[*ratelimit.Caller]
	limiter *ratelimit.Limiter
	usage   *usage.Recorder
	hooks   *webhook.Service
	console *console.Console
	url     string

	pagesPerMinute int

	api http.Handler // the console behind the API, which counts and bounds it

	clock *storetest.Clock
}

// newHouse returns a house in which nothing is limited that a test does not limit.
func newHouse(t testing.TB) *house {
	t.Helper()
	cfg := ratelimit.DefaultConfig()
	cfg.AddressLimits = ratelimit.Limits{PerMinute: 1 << 30, PerDay: 1 << 30}
	return buildHouse(t, cfg, 1<<30)
}

func buildHouse(t testing.TB, cfg ratelimit.Config, pages int) *house {
	t.Helper()
	h := &house{t: t, clock: storetest.NewClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))}
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "petstore.db"), sqlite.Options{Now: h.clock.Now})
	must(t, err)
	t.Cleanup(func() { _ = db.Close() })
	h.db, h.shop, h.limiter, h.usage = db, petstore.NewService(db), ratelimit.New(cfg, h.clock.Now), usage.NewRecorder(db, h.clock.Now)
	h.keys = access.NewDirectory(db, h.clock.Now, func(w access.Workspace, k access.Key, before *ratelimit.Caller) *ratelimit.Caller {
		return h.limiter.Caller(before, w.ID, k.ID, ratelimit.Limits(w.Quota), (*ratelimit.Ban)(k.Ban))
	})
	h.pagesPerMinute = pages
	h.hooks = &webhook.Service{
		Store: db, Now: h.clock.Now, Wake: func() {},
		Sender: webhook.NewSender(webhook.SenderOptions{Guard: webhook.NewGuard(true, []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}), Now: h.clock.Now, Version: "test"}),
	}
	t.Cleanup(h.hooks.Sender.Close)
	h.api, h.url = h.node(h.shop, &h.console)
	return h
}

// node returns the API of a node on the store of the house, with a console, which it makes.
func (h *house) node(shop *petstore.Service, pages **console.Console) (http.Handler, string) {
	h.t.Helper()
	secret, err := h.db.Secret(h.t.Context())
	must(h.t, err)
	*pages, err = console.New(console.Options{
		Page:   h.pages(secret),
		Events: h.db, Webhooks: h.hooks, Service: shop, Bulk: h.db, PagesPerMinute: h.pagesPerMinute,
	})
	must(h.t, err)
	api, err := httpapi.New(httpapi.Options{
		Service: shop, Access: h.db, Keys: h.keys, Limiter: h.limiter, Secret: secret, Sunset: h.clock.Now().AddDate(1, 0, 0), Docs: http.NotFoundHandler(), Now: h.clock.Now, Log: slog.New(slog.DiscardHandler),
		OnBan: func(ratelimit.Ban) {}, Observe: func(context.Context, httpapi.Observation) {}, Reads: 128, Writes: 512,
		Console: func(w http.ResponseWriter, r *http.Request, p *httpapi.ConsoleGate) { (*pages).Serve(w, r, p) },
	})
	must(h.t, err)
	server := httptest.NewServer(api)
	h.t.Cleanup(server.Close)
	return api, server.URL
}

// pages are what both consoles are made of.
func (h *house) pages(secret []byte) page.Options {
	return page.Options{
		Access: h.db, Keys: h.keys, Limiter: h.limiter, Usage: h.usage, Secret: secret, Now: h.clock.Now, Log: slog.New(slog.DiscardHandler),
	}
}

// save saves what the limiter counted, as a node does twice a second, and what keys did, as it does every few seconds.
func (h *house) save() {
	h.t.Helper()
	must(h.t, h.limiter.Save(h.t.Context(), h.db))
	must(h.t, h.usage.Save(h.t.Context()))
}

// request has the limiter admit a request of a key, which is recorded.
func (h *house) request(e *access.Entry[*ratelimit.Caller]) {
	h.t.Helper()
	h.limiter.Admit(e.Attachment)
	h.usage.Record(e.Workspace.ID, usage.Event{At: h.clock.Now(), Method: "GET", Path: "/pets", Operation: "listPets", Status: 200, KeyID: e.Key.ID})
}

// workspace makes a workspace with a category and a pet, on a plan that does not matter.
func (h *house) workspace(name string) access.Workspace {
	h.t.Helper()
	return h.planned(name, access.Enterprise, access.Quota{PerMinute: access.MaxQuota, PerDay: access.MaxQuota})
}

func (h *house) planned(name string, plan access.Plan, quota access.Quota) access.Workspace {
	h.t.Helper()
	w, err := h.db.CreateWorkspace(h.t.Context(), access.Workspace{Name: name, Plan: plan, Quota: quota}, "test")
	must(h.t, err)
	c, err := h.shop.CreateCategory(h.t.Context(), w.ID, petstore.NewCategory{Name: "Dogs"}, nil)
	must(h.t, err)
	must(h.t, errOf(h.shop.CreatePet(h.t.Context(), w.ID, petstore.NewPet{Name: "=Rex", CategoryID: c.ID}, nil)))
	return w
}

func (h *house) key(w access.Workspace, scopes access.Scopes, expires time.Time) (access.Key, string) {
	h.t.Helper()
	secret, prefix := access.Mint()
	k := access.Key{
		ID: access.MintID(), WorkspaceID: w.ID, Name: "till", Prefix: prefix, Hash: access.HashOf(secret), Scopes: scopes,
		CreatedAt: h.clock.Now(), ExpiresAt: expires,
	}
	must(h.t, errOf(h.db.MakeKey(h.t.Context(), access.KeyRequest{Key: k, By: "test"})))
	h.refresh()
	return k, secret
}

// revoke revokes a key, as the operator.
func (h *house) revoke(id string) {
	h.t.Helper()
	must(h.t, (access.Keyring{Store: h.db, Now: h.clock.Now, By: "test"}).Revoke(h.t.Context(), id, petstore.Condition{}))
	h.refresh()
}

func (h *house) refresh() {
	h.t.Helper()
	must(h.t, h.keys.Refresh(h.t.Context()))
}

// ban stores a ban, and has the limiter learn of it.
func (h *house) ban(b access.Ban) {
	h.t.Helper()
	must(h.t, access.SetBan(h.t.Context(), h.db, b, "test"))
	h.refresh()
}

// A guest is a browser without a picture.
type guest struct {
	*house
	client *http.Client
	node   string // the host of another node, or ""
}

func (h *house) guest() *guest {
	jar, _ := cookiejar.New(nil) // never fails without options
	return &guest{h, &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, ""}
}

// signedIn returns a guest who is signed in with a key that may do everything.
func (h *house) signedIn(w access.Workspace, scopes access.Scopes) *guest {
	h.t.Helper()
	_, secret := h.key(w, scopes, time.Time{})
	g := h.guest()
	g.post("/console/signin", "key", secret).want(303, "")
	return g
}

type answer struct {
	t      testing.TB
	what   string
	status int
	header http.Header
	body   string
}

func (a answer) want(status int, text string) answer {
	a.t.Helper()
	if a.status != status || !strings.Contains(a.body, text) {
		a.t.Errorf("%s = %d, want %d with %q in:\n%s", a.what, a.status, status, text, a.body)
	}
	return a
}

func (a answer) leadsTo(path string) answer {
	a.t.Helper()
	if got := a.header.Get("Location"); a.status != 303 || got != path {
		a.t.Errorf("%s = %d to %q, want 303 to %q:\n%s", a.what, a.status, got, path, a.body)
	}
	return a
}

func (g *guest) send(r *http.Request) answer {
	g.t.Helper()
	if g.node != "" {
		r.URL.Host = g.node
	}
	resp, err := g.client.Do(r)
	must(g.t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	must(g.t, err)
	return answer{g.t, r.Method + " " + r.URL.Path, resp.StatusCode, resp.Header, string(body)}
}

func (g *guest) get(path string, header ...string) answer {
	g.t.Helper()
	r, err := http.NewRequestWithContext(g.t.Context(), http.MethodGet, g.url+path, nil)
	must(g.t, err)
	for pair := range slices.Chunk(header, 2) {
		r.Header.Set(pair[0], pair[1])
	}
	return g.send(r)
}

// post sends a form of names and values, with the version that the page shows.
func (g *guest) post(path string, pairs ...string) answer {
	g.t.Helper()
	form := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		form.Add(pairs[i], pairs[i+1])
	}
	r, err := http.NewRequestWithContext(g.t.Context(), http.MethodPost, g.url+path, strings.NewReader(form.Encode()))
	must(g.t, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	return g.send(r)
}

func TestSignIn(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := h.workspace("shop")
	_, good := h.key(w, access.Read|access.Write|access.Manage, time.Time{})
	_, expired := h.key(w, access.Read, h.clock.Now())
	_, blind := h.key(w, access.Write, time.Time{})
	g := h.guest()
	g.get("/console/pets?status=sold").leadsTo("/console/signin?next=%2Fconsole%2Fpets%3Fstatus%3Dsold")
	g.post("/console/signin", "key", "nonsense").want(422, "not valid")
	g.post("/console/signin", "key", expired).want(422, "expired")
	g.post("/console/signin", "key", blind).want(422, "scope read")
	for next, want := range map[string]string{
		"/console/pets?status=sold": "/console/pets?status=sold", "https://evil.example/console": "/console", "//evil.example/console/": "/console",
		"/docs": "/console", "": "/console", "/consoles": "/console",
	} {
		g.post("/console/signin", "key", " "+good+" ", "next", next).leadsTo(want)
	}
	g.get("/console").want(200, "shop")
	if log := h.audited(1); !strings.HasPrefix(log, "console:key_") || !strings.HasSuffix(log, " console.sign_in") {
		t.Errorf("the audit log says %s, want the sign-in", log)
	}
}

// TestGuessesWait: an address that tried too many keys is not heard.
func TestGuessesWait(t *testing.T) {
	t.Parallel()
	cfg := ratelimit.DefaultConfig()
	cfg.AddressLimits = ratelimit.Limits{PerMinute: 1, PerDay: 100}
	h := buildHouse(t, cfg, 0)
	_, good := h.key(h.workspace("shop"), access.Read|access.Write|access.Manage, time.Time{})
	h.guest().post("/console/signin", "key", "nonsense").want(422, "not valid")
	a := h.guest().post("/console/signin", "key", good).want(429, "Wait 60 seconds")
	if a.header.Get("Retry-After") != "60" || a.header.Get("Set-Cookie") != "" {
		t.Errorf("an attempt that must wait: Retry-After %q, Set-Cookie %q", a.header.Get("Retry-After"), a.header.Get("Set-Cookie"))
	}
}

func TestSessionCookie(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	_, secret := h.key(h.workspace("shop"), access.Read, time.Time{})
	cookie := h.guest().post("/console/signin", "key", secret).header.Get("Set-Cookie")
	for _, part := range []string{"HttpOnly", "SameSite=Strict", "Path=/console", "Max-Age=43200"} {
		if !strings.Contains(cookie, part) {
			t.Errorf("the session's cookie %q has no %s", cookie, part)
		}
	}
	if strings.Contains(cookie, secret[4:]) || strings.Contains(cookie, "Secure") {
		t.Errorf("the session's cookie is %q", cookie)
	}
}

// TestSessionEnds: with the key, with its time, and with sign-out.
func TestSessionEnds(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := h.workspace("shop")
	out := h.signedIn(w, access.Read)
	out.post("/console/signout").leadsTo("/console/signin")
	out.get("/console/signin").want(200, "You are signed out")
	out.get("/console").leadsTo("/console/signin?next=%2Fconsole")

	k, secret := h.key(w, access.Read, h.clock.Now().Add(time.Hour))
	expiring := h.guest()
	expiring.post("/console/signin", "key", secret).leadsTo("/console")
	revoked := h.guest()
	k2, secret2 := h.key(w, access.Read, time.Time{})
	revoked.post("/console/signin", "key", secret2).leadsTo("/console")
	long := h.signedIn(w, access.Read)

	h.revoke(k2.ID)
	revoked.get("/console").leadsTo("/console/signin?next=%2Fconsole")
	revoked.get("/console/signin").want(200, "no longer valid")
	h.clock.Advance(time.Hour)
	expiring.get("/console/keys/" + k.ID + "/revoke").leadsTo("/console/signin?next=%2Fconsole%2Fkeys%2F" + k.ID + "%2Frevoke")
	expiring.get("/console/signin").want(200, "has expired")
	h.clock.Advance(11*time.Hour - time.Second)
	long.get("/console").want(200, "Overview")
	h.clock.Advance(time.Second)
	long.get("/console").leadsTo("/console/signin?next=%2Fconsole")
}

func TestSignInLink(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	k, _ := h.key(h.workspace("shop"), access.Read, time.Time{})
	path := h.console.SignInPath(k.ID)
	token := strings.TrimPrefix(path, "/console/link?token=")
	for range 2 {
		h.guest().get(path).want(200, "Sign in to the console") // looking does not use it up
	}
	h.guest().post("/console/link", "token", token+"x").want(410, "has been used")
	g := h.guest()
	g.post("/console/link", "token", token).leadsTo("/console")
	g.get("/console").want(200, "Overview")
	h.guest().post("/console/link", "token", token).want(410, "has been used")
	late := h.console.SignInPath(k.ID)
	h.clock.Advance(10 * time.Minute)
	h.guest().get(late).want(410, "its time is over")
}

var versionIn = regexp.MustCompile(`name="version" value="([^"]+)"`)

// TestEditedMeanwhile: the later of two edits is not lost and does not win unseen.
func TestEditedMeanwhile(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	g := h.signedIn(h.workspace("shop"), access.Read|access.Write|access.Manage)
	version := versionIn.FindStringSubmatch(g.get("/console/pets/1").body)[1]
	g.post("/console/pets/1", "name", "First", "categoryId", "1", "status", "available", "version", version).leadsTo("/console/pets/1")
	again := g.post("/console/pets/1", "name", "Second", "categoryId", "1", "status", "available", "version", version).want(422, "Somebody changed this meanwhile")
	again.want(422, `value="Second"`).want(422, `Now: <strong><bdi>First</bdi></strong>. You entered: <strong><bdi>Second</bdi>`)
	g.get("/console/pets/1").want(200, `value="First"`)

	// To send the form again, as it is shown, saves what was entered, unless there was one more change.
	second := []string{"name", "Second", "categoryId", "1", "status", "available", "version", versionIn.FindStringSubmatch(again.body)[1]}
	g.post("/console/pets/1", second...).leadsTo("/console/pets/1")
	g.post("/console/pets/1", second...).want(422, "Somebody changed this meanwhile")
}

// count sets the stock of the first pet.
func (h *house) count(w access.Workspace, quantity int64) {
	h.t.Helper()
	must(h.t, errOf(h.shop.UpdateInventory(h.t.Context(), w.ID, 1, quantity, petstore.Condition{})))
}

// TestStockHistory: units are added to what is there, and the page says what became of them.
func TestStockHistory(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := h.workspace("shop")
	g := h.signedIn(w, access.Read|access.Write)
	g.post("/console/pets/1/add", "units", "50").leadsTo("/console/pets/1")
	g.post("/console/pets/1/add", "units", "-3").leadsTo("/console/pets/1")
	for units, why := range map[string]string{"-49": "Only 48 can be taken away", "x": "Enter a whole number", "1000000000": "at most", "9223372036854775807": "at most", "-9223372036854775808": "Only 48"} {
		g.post("/console/pets/1/add", "units", units).want(422, why).want(422, `value="`+units+`"`)
	}
	g.post("/console/orders/new", "petId", "1", "quantity", "5").leadsTo("/console/orders/1")
	g.post("/console/orders/new", "petId", "1", "quantity", "6").leadsTo("/console/orders/2")
	g.post("/console/orders/1/cancel").leadsTo("/console/orders/1")
	a := g.get("/console/pets/1").want(200, "Why is the stock 42?").want(200, "Pet added").want(200, "Stock set to 51").want(200, "Order 1 cancelled").want(200, `<a href="/console/pets" aria-current="page">`)
	a.want(200, `<a href="/console/orders/2">Order 2 placed</a>`).want(200, `<a href="/console/orders/1">Order 1 cancelled</a>`).want(200, `<bdi class="name">till</bdi>`).want(200, ">a command<")
	for range 30 {
		g.post("/console/pets/1/add", "units", "1").leadsTo("/console/pets/1")
	}
	older := regexp.MustCompile(`rel="next" href="([^"]+)"`).FindStringSubmatch(g.get("/console/pets/1").body)[1]
	g.get(older).want(200, "Pet added")
	g.post("/console/pets/1/add", "units", "x").want(422, `rel="next" href="`+older+`"`)
	if a := g.post("/console/pets/1/stock", "quantity", "x").want(422, "Change the pet"); strings.Contains(a.body, ">Back</a>") {
		t.Errorf("a form beside one that was refused has a way back of its own:\n%s", a.body)
	}
}

// TestFaults: each fault stands next to its field, and what was entered stays.
func TestFaults(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	g := h.signedIn(h.workspace("shop"), access.Read|access.Write|access.Manage)
	long := strings.Repeat("x", 101)
	for _, test := range []struct {
		path  string
		pairs []string
		field string // at which the fault stands; "" for none
		want  string
	}{
		{"/console/pets/new", []string{"name", long, "categoryId", "1"}, "name", "at most 100"},
		{"/console/pets/new", []string{"name", "Rex", "categoryId", "99"}, "categoryId", "no category"},
		{"/console/pets/new", []string{"name", "Rex", "categoryId", "Dgos"}, "categoryId", "no category with this name"},
		{"/console/pets/new", []string{"name", "Rex", "categoryId", "Do"}, "categoryId", "Is it Dogs #1"},
		{"/console/pets/new", []string{"name", "Rex", "categoryId", "", "add", "true"}, "categoryId", "at least 1"},
		{"/console/pets/new", []string{"name", "Rex", "categoryId", "Cats", "add", "true", "quantity", "-1"}, "quantity", "between 0"},
		{"/console/pets/new", []string{"name", "Rex", "categoryId", "1", "quantity", "2", "status", "sold"}, "quantity", "must be 0"},
		{"/console/pets/1", []string{"name", "Rex", "categoryId", "Dgos"}, "categoryId", "no category with this name"},
		{"/console/pets/low", []string{"units", "101"}, "units", "0 to 100"},
		{"/console/pets/1/add", []string{"units", "0"}, "units", "must not be 0"},
		{"/console/pets/new", []string{"name", "Rex", "categoryId", "1", "status", "lost"}, "status", "no choice"},
		{"/console/pets/1", []string{"name", "", "categoryId", "1"}, "name", "at least 1"},
		{"/console/categories/new", []string{"name", "\u0007"}, "name", "control"},
		{"/console/orders/new", []string{"petId", "Fido", "quantity", "1"}, "petId", "no pet with this name"},
		{"/console/orders/new", []string{"petId", "re", "quantity", "1"}, "petId", "Is it =Rex #1"},
		{"/console/orders/new", []string{"petId", "rex #1", "quantity", "1"}, "petId", "no pet"},
		{"/console/orders/new", []string{"petId", "1", "quantity", "0"}, "quantity", "between 1"},
		{"/console/orders/new", []string{"petId", "99", "quantity", "1"}, "petId", "no pet"},
		{"/console/orders/new", []string{"petId", "1", "quantity", "1", "shipDate", "soon"}, "shipDate", "Enter a time"},
		{"/console/orders/new", []string{"petId", "1", "quantity", "2"}, "", "1 can be ordered"},
		{"/console/pets/1/stock", []string{"quantity", "-1"}, "quantity", "between 0"},
		{"/console/keys/new", []string{"name", " ", "scopes", "read", "expiresAt", "0"}, "name", "at least 1"},
		{"/console/keys/new", []string{"name", "x", "expiresAt", "0"}, "scopes", "at least one"},
		{"/console/keys/new", []string{"name", " ", "expiresAt", "0"}, "name", "at least 1"}, // the faults of all members stand there
		{"/console/keys/new", []string{"name", " ", "expiresAt", "0"}, "scopes", "at least one"},
		{"/console/keys/new", []string{"name", "x", "scopes", "read", "expiresAt", "7"}, "expiresAt", "no choice"},
		{"/console/categories/1/delete", nil, "", "still has pets"},
	} {
		a := g.post(test.path, test.pairs...).want(422, test.want)
		if test.field != "" && !regexp.MustCompile(`class="error" id="h-`+test.field+`">[^<]*`+test.want).MatchString(a.body) {
			t.Errorf("POST %s with %q: %q does not stand at the field %s:\n%s", test.path, test.pairs, test.want, test.field, a.body)
		}
		if len(test.pairs) > 0 && test.pairs[1] == long {
			a.want(422, `value="`+long)
		}
	}
}

// TestOrders: placing, completing and cancelling move the stock as the interface says.
func TestOrders(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := h.workspace("shop")
	g := h.signedIn(w, access.Read|access.Write|access.Manage)
	g.post("/console/pets/1/stock", "quantity", "10").leadsTo("/console/pets/1")
	g.post("/console/orders/new", "petId", "1", "quantity", "4", "shipDate", "2026-04-01T10:30").leadsTo("/console/orders/1")
	g.post("/console/orders/new", "petId", "1", "quantity", "5").leadsTo("/console/orders/2")
	g.get("/console/orders/1").want(200, `value="2026-04-01T10:30"`)
	g.post("/console/orders/1", "shipDate", "").leadsTo("/console/orders/1")
	g.get("/console/orders/1").want(200, `name="shipDate" value=""`)
	g.get("/console/orders/1/complete").want(200, "This is final")
	g.post("/console/orders/1/complete").leadsTo("/console/orders/1")
	g.post("/console/orders/1/cancel").want(422, "is complete and cannot change")
	g.post("/console/orders/2/cancel", "from", "state=open&after=9").leadsTo("/console/orders?after=9&state=open")
	g.post("/console/pets/1", "name", "=Rex", "categoryId", "1", "status", "pending").leadsTo("/console/pets/1")
	item, err := h.shop.InventoryItem(t.Context(), w.ID, 1)
	if want := (petstore.InventoryItem{PetID: 1, Quantity: 6, Status: petstore.Pending}); item != want || err != nil {
		t.Errorf("the item is %+v, %v, want %+v", item, err, want)
	}
	g.post("/console/pets/1/delete").leadsTo("/console/pets")
	g.get("/console/orders").want(200, "pet 1, deleted")
}

var secretIn = regexp.MustCompile(`pst_[0-9A-Za-z]{38}`)

// TestKeys: a key is shown once, may not exceed its maker, and the audit log knows who made it.
func TestKeys(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := h.workspace("shop")
	g := h.signedIn(w, access.Read|access.Write|access.Manage)
	shown := g.post("/console/keys/new", "name", "web shop", "scopes", "read", "expiresAt", "24").want(200, "Copy it now")
	if cookies := shown.header.Values("Set-Cookie"); len(cookies) > 0 || shown.header.Get("Cache-Control") != "no-store" {
		t.Errorf("the page with the key sets %q, Cache-Control %q: a browser keeps it", cookies, shown.header.Get("Cache-Control"))
	}
	secret := secretIn.FindString(shown.body)
	entry, err := h.keys.Verify(secret)
	if err != nil || entry.Key.Scopes != access.Read || !entry.Key.ExpiresAt.Equal(h.clock.Now().Add(24*time.Hour)) || entry.Key.Name != "web shop" {
		t.Fatalf("the key %q is %+v, %v", secret, entry, err)
	}
	if a := g.get("/console/keys"); strings.Contains(a.body, secret) {
		t.Error("the list shows a key")
	}
	g.post("/console/keys/"+entry.Key.ID+"/rotate", "overlap", "1").want(200, "Copy it now")
	h.refresh()
	if e := h.keys.Entry(entry.Key.ID); e == nil || !e.Key.ExpiresAt.Equal(h.clock.Now().Add(time.Hour)) {
		t.Errorf("the rotated key is %+v, want one that ends in an hour", e)
	}
	if a := g.get("/console/keys"); strings.Contains(a.body, entry.Key.ID+"/rotate") || !strings.Contains(a.body, entry.Key.ID+"/revoke") {
		t.Errorf("the list offers to rotate a key again: %s", a.body)
	}
	g.get("/console/keys/"+entry.Key.ID+"/rotate").want(422, "was already rotated to")
	g.post("/console/keys/" + entry.Key.ID + "/revoke").leadsTo("/console/keys")
	if _, err := h.keys.Verify(secret); petstore.CodeOf(err) != access.CodeInvalidKey {
		t.Errorf("the revoked key: %v, want %s", err, access.CodeInvalidKey)
	}
	log, err := h.db.AuditPage(t.Context(), 0, 0, 3)
	if err != nil || len(log) != 3 || !strings.HasPrefix(string(log[0].Actor), "console:key_") {
		t.Errorf("the audit log says %+v, %v", log, err)
	}
}

// TestCSV: the files are whole, whatever the page shows, and no cell is a formula.
func TestCSV(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := h.workspace("shop")
	g := h.signedIn(w, access.Read|access.Manage)
	for i := range 40 {
		must(t, errOf(h.shop.CreatePet(t.Context(), w.ID, petstore.NewPet{Name: fmt.Sprintf("Pet, \"%d\"", i), CategoryID: 1}, nil)))
	}
	h.usage.Record(w.ID, usage.Event{At: h.clock.Now(), Method: "GET", Path: "=cmd()", Status: 404, Duration: time.Millisecond, KeyID: "key_x"})
	for path, want := range map[string]int{
		"/console/pets.csv": 42, "/console/pets.csv?name=rex": 2, "/console/categories.csv": 2, "/console/orders.csv": 1, "/console/keys.csv": 2, "/console/requests.csv": 2,
	} {
		a := g.get(path).want(200, "")
		rows, err := csv.NewReader(strings.NewReader(a.body)).ReadAll()
		if err != nil || len(rows) != want {
			t.Errorf("%s has %d lines, %v, want %d", path, len(rows), err, want)
		}
		for _, row := range rows {
			for _, c := range row {
				if c != "" && strings.ContainsRune("=+-@", rune(c[0])) {
					t.Errorf("%s has the formula %q", path, c)
				}
			}
		}
		if !strings.Contains(a.header.Get("Content-Disposition"), "attachment") {
			t.Errorf("%s is not a download", path)
		}
	}
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodHead, h.url+"/console/pets.csv", nil)
	if a := g.send(r).want(200, ""); a.header.Get("Content-Disposition") != `attachment; filename="pets.csv"` || !strings.HasPrefix(a.header.Get("Content-Type"), "text/csv") {
		t.Errorf("HEAD is answered with %q", a.header)
	}
	if a := h.guest().get("/console/pets.csv"); a.status != 303 {
		t.Errorf("a stranger's download answers %d", a.status)
	}
}

// TestOutside: other sites, unknown pages and HEAD.
func TestOutside(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	g := h.signedIn(h.workspace("shop"), access.Read|access.Write|access.Manage)
	for name, value := range map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://other.example"} {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, h.url+"/console/pets/1/delete", nil)
		r.Header.Set(name, value)
		g.send(r).want(403, "another site")
	}
	g.get("/console/nothing").want(404, "no such page")
	g.get("/console/pets/0").want(404, "Not found")
	g.get("/console/stock").leadsTo("/console/pets")
	g.get("/console/stock/1").leadsTo("/console/pets/1")
	g.get("/console/pets/x").want(404, "Not found")
	g.post("/console/pets").want(404, "no such page")
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodHead, h.url+"/console", nil)
	if a := g.send(r).want(200, ""); a.body != "" {
		t.Errorf("HEAD answers with a body: %s", a.body)
	}
	for _, path := range []string{"/console", "/console/signin", "/console/nothing"} {
		policy := g.get(path).header.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'; trusted-types 'none'"} {
			if !strings.Contains(policy, part) || strings.Contains(policy, "unsafe") {
				t.Errorf("the policy of %s is %q", path, policy)
			}
		}
	}
}

var linkIn = regexp.MustCompile(`<a [^>]*href="(/console[^"#]*)"( download)?`)

// TestLinks follows every link of the console that it finds, once.
func TestLinks(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := h.workspace("shop")
	h.ordered(w)
	h.usage.Record(w.ID, usage.Event{At: h.clock.Now(), Method: "GET", Path: "/pets", Status: 404, Code: "pet_not_found", RequestID: "one"})
	g := h.signedIn(w, access.Read|access.Write|access.Manage)
	to, _ := receiver(t, 200, "")
	g.addHook(to)
	seen := map[string]bool{"/console": true}
	for todo := []string{"/console"}; len(todo) > 0 && len(seen) < 400; todo = todo[1:] {
		for _, m := range linkIn.FindAllStringSubmatch(g.get(todo[0]).want(200, "").body, -1) {
			if link := html.UnescapeString(m[1]); !seen[link] {
				seen[link] = true
				todo = append(todo, link)
			}
		}
	}
	if len(seen) < 60 {
		t.Errorf("only %d pages were found: %v", len(seen), seen)
	}
}
