package console_test

import (
	"cmp"
	"compress/gzip"
	"html"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/portal/console"
)

var (
	formIn   = regexp.MustCompile(`(?s)<form method="post"(?: action="([^"]*)")? class="card stack">(.*?)</form>`)
	hiddenIn = regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)"`)
)

// form returns the hidden fields of the form of a page that is sent to an address, with those that are given.
func (g *guest) form(page, action string, pairs ...string) []string {
	g.t.Helper()
	body := g.get(page).want(200, "").body
	for _, form := range formIn.FindAllStringSubmatch(body, -1) {
		if form[1] != "" && form[1] != action || form[1] == "" && page != action {
			continue
		}
		return append(pairs, hidden(form[2])...)
	}
	g.t.Fatalf("%s has no form for %s:\n%s", page, action, body)
	return nil
}

// counted returns a shop with a pet of 20 units, and who is signed in to it.
func counted(t *testing.T) (*house, access.Workspace, *guest) {
	t.Helper()
	h := newHouse(t)
	w := h.workspace("shop")
	h.count(w, 20)
	return h, w, h.signedIn(w, access.Read|access.Write|access.Manage)
}

// onOtherNode returns the guest on another node.
func (g *guest) onOtherNode() *guest {
	g.t.Helper()
	_, to := g.house.node(petstore.NewService(g.db), new(*console.Console))
	here, _ := url.Parse(g.url)
	there, _ := url.Parse(to)
	for _, cookie := range g.client.Jar.Cookies(here.JoinPath("/console")) {
		cookie.Path = "/console"
		g.client.Jar.SetCookies(there.JoinPath("/console"), []*http.Cookie{cookie})
	}
	return &guest{g.house, g.client, there.Host}
}

// TestSentTwice: a form that is sent again as it was is done once, here and on another node, and shows the first result.
func TestSentTwice(t *testing.T) {
	t.Parallel()
	h, w, g := counted(t)
	there := g.onOtherNode()
	for _, test := range []struct {
		path, action string
		pairs        []string
		said         string
	}{
		{"/console/categories/new", "", []string{"name", "Cats"}, "The category was added."},
		{"/console/pets/new", "", []string{"name", "Felix", "categoryId", "2"}, "The pet was added."},
		{"/console/orders/new", "", []string{"petId", "1", "quantity", "2"}, "The order was placed."},
		{"/console/orders/new", "", []string{"petId", "1", "quantity", "2"}, "The order was placed."}, // shown anew it is another one
		{"/console/pets/1", "/console/pets/1/add", []string{"units", "50"}, "50 units were added."},
		{"/console/pets/1", "/console/pets/1/stock", []string{"quantity", "30"}, "The stock was set to 30."},
		{"/console/pets/1", "", []string{"name", "Rex", "categoryId", "1", "status", "available"}, "The pet was saved."},
		{"/console/orders/1/complete", "", nil, "Order 1 is complete."},
		{"/console/orders/2/cancel", "", nil, "Order 2 was cancelled"},
		{"/console/pets/2/delete", "", nil, "The pet was deleted."},
		{"/console/categories/2/delete", "", nil, "The category was deleted."},
	} {
		action := cmp.Or(test.action, test.path)
		form := g.form(test.path, action, test.pairs...)
		first := g.post(action, form...).want(303, "").header.Get("Location")
		g.get(first).want(200, test.said)
		for _, again := range []*guest{g, there} {
			again.post(action, form...).leadsTo(first)
			again.get(first).want(200, test.said).want(200, "It was sent twice, and done once.")
		}
	}
	orders, err := h.shop.Orders(t.Context(), w.ID, petstore.OrderQuery{Page: petstore.Page{Limit: 9}})
	if err != nil || len(orders) != 1 {
		t.Errorf("the orders are %v, %v, want the one that is complete", orders, err)
	}
	moves, _, err := h.shop.Movements(t.Context(), w.ID, 1, 0, 9)
	if err != nil || len(moves) != 8 { // made, counted, two orders, added, set, completed, cancelled
		t.Errorf("the stock moved %d times: %v, %v, want 8", len(moves), moves, err)
	}
}

// TestSentAtOnce: so do forms that are sent at the same time, to two nodes.
func TestSentAtOnce(t *testing.T) {
	t.Parallel()
	h, w, g := counted(t)
	there := g.onOtherNode()
	order := g.form("/console/orders/new", "/console/orders/new", "petId", "1", "quantity", "2")
	units := g.form("/console/pets/1", "/console/pets/1/add", "units", "50")
	var all sync.WaitGroup
	for range 4 {
		for _, one := range []*guest{g, there} {
			all.Go(func() { one.post("/console/orders/new", order...).leadsTo("/console/orders/1") })
			all.Go(func() { one.post("/console/pets/1/add", units...).leadsTo("/console/pets/1") })
		}
	}
	all.Wait()
	item, err := h.shop.InventoryItem(t.Context(), w.ID, 1)
	if err != nil || item.Quantity != 68 {
		t.Errorf("the stock is %+v, %v, want 68", item, err)
	}
}

// TestSentAgain: what is entered anew, or was refused, is no repetition; and a form of another workspace is shown, not done.
func TestSentAgain(t *testing.T) {
	t.Parallel()
	h, w, g := counted(t)
	form := g.form("/console/orders/new", "/console/orders/new", "petId", "1")
	g.post("/console/orders/new", append(form, "quantity", "21")...).want(422, "can be ordered")
	g.post("/console/orders/new", append(form, "quantity", "2")...).leadsTo("/console/orders/1")
	g.post("/console/orders/new", append(form, "quantity", "3")...).leadsTo("/console/orders/2")

	elsewhere := h.signedIn(h.workspace("other"), access.Read|access.Write|access.Manage)
	a := elsewhere.post("/console/orders/new", append(form, "quantity", "1")...).want(422, "opened in another workspace").want(422, `name="quantity" value="1"`)
	elsewhere.post("/console/orders/new", "petId", "1", "quantity", "1", "once", hiddenValue(a.body, "once")).leadsTo("/console/orders/1")
	h.clock.Advance(petstore.KeepReceipts)
	late := h.signedIn(w, access.Read|access.Write|access.Manage)
	late.post("/console/orders/new", append(form, "quantity", "2")...).want(422, "more than a day ago")
}

// TestPagesAreCompressed: pages are, for who takes that, and no two of them have the same token.
func TestPagesAreCompressed(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	g := h.signedIn(h.workspace("shop"), access.Read|access.Write|access.Manage)
	tokens := map[string]bool{}
	for _, path := range []string{"/console", "/console/orders/new", "/console/orders/new", "/console/pets/1", "/console/nothing"} {
		a := g.get(path, "Accept-Encoding", "gzip")
		in, err := gzip.NewReader(strings.NewReader(a.body))
		if err != nil || a.header.Get("Content-Encoding") != "gzip" || len(a.body) > 40<<10 {
			t.Fatalf("%s has %d bytes, Content-Encoding %q, %v", path, len(a.body), a.header.Get("Content-Encoding"), err)
		}
		text, err := io.ReadAll(in)
		if token := hiddenValue(string(text), "once"); err != nil || tokens[token] && token != "" {
			t.Errorf("%s has the token %q of another page, or cannot be read: %v", path, token, err)
		} else {
			tokens[token] = true
		}
		if plain := g.get(path, "Accept-Encoding", "identity"); plain.header.Get("Content-Encoding") != "" || !strings.Contains(plain.body, "</html>") {
			t.Errorf("%s is not plain for who takes no gzip", path)
		}
	}
}

func hiddenValue(body, name string) string {
	for pair := range slices.Chunk(hidden(body), 2) {
		if pair[0] == name {
			return pair[1]
		}
	}
	return ""
}

// hidden returns the names of hidden fields, each with its value.
func hidden(body string) (pairs []string) {
	for _, field := range hiddenIn.FindAllStringSubmatch(body, -1) {
		pairs = append(pairs, html.UnescapeString(field[1]), html.UnescapeString(field[2]))
	}
	return pairs
}

// TestSecretsOnce: to reload the page with a new key or secret makes no other, and shows the same in the same session alone.
func TestSecretsOnce(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := h.workspace("shop")
	k, secret := h.key(w, access.Read|access.Write|access.Manage, time.Time{})
	g, beside := h.guest(), h.guest()
	for _, one := range []*guest{g, beside} {
		one.post("/console/signin", "key", secret).leadsTo("/console")
	}
	to, _ := receiver(t, 200, "")
	hook, _ := g.addHook(to)
	for _, test := range []struct {
		path  string
		pairs []string
		kind  string
	}{
		{"/console/keys/new", []string{"name", "till", "scopes", "read", "expiresAt", "0"}, `pst_\w{38}`},
		{"/console/keys/" + k.ID + "/rotate", []string{"overlap", "24"}, `pst_\w{38}`},
		{"/console/webhooks/new", []string{"url", to, "description", ""}, `whsec_[^<]+`},
		{hook + "/rotate", nil, `whsec_[^<]+`},
	} {
		secretIn := regexp.MustCompile(test.kind)
		form := g.form(test.path, test.path, test.pairs...)
		first := secretIn.FindString(g.post(test.path, form...).want(200, "Copy it now").body)
		again := secretIn.FindString(html.UnescapeString(g.post(test.path, form...).want(200, "Copy it now").body))
		if first = html.UnescapeString(first); first == "" || again != first {
			t.Errorf("%s shows %q, and then %q", test.path, first, again)
		}
		if a := beside.post(test.path, form...); strings.Contains(html.UnescapeString(a.body), first) {
			t.Errorf("%s shows %q in another session", test.path, first)
		}
	}
	keys, err := h.db.KeyPage(t.Context(), w.ID, access.KeyPage{Limit: 100})
	if err != nil || len(keys) != 4 { // the first, that of each session, and the one that takes over
		t.Errorf("there are %d keys, %v, want 4", len(keys), err)
	}
}

// TestExpiredSession: who sent a form without a session is asked for the key, and what was entered goes on with it.
func TestExpiredSession(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := h.workspace("shop")
	_, secret := h.key(w, access.Read|access.Write, time.Time{})
	g := h.guest()
	g.post("/console/signin", "key", secret).leadsTo("/console")
	long := strings.Repeat("ä", 1000)
	form := g.form("/console/categories/new", "/console/categories/new", "name", "<Cats>", "description", long)
	h.clock.Advance(12 * time.Hour)
	a := g.post("/console/categories/new", form...).want(403, "Your session is over").want(403, "Nothing was done yet")
	a.want(403, `name="name" value="&lt;Cats&gt;"`).want(403, long)
	a = g.post("/console/signin", append(hidden(a.body), "key", "nonsense")...).want(422, "not valid").want(422, long)
	sent := append(hidden(a.body), "key", secret)
	a = g.post("/console/signin", sent...).want(307, "")
	if to := a.header.Get("Location"); to != "/console/categories/new" {
		t.Fatalf("the sign-in leads to %q", to)
	}
	g.post("/console/categories/new", sent...).leadsTo("/console/categories") // as a browser does after 307
	g.get("/console/categories").want(200, "&lt;Cats&gt;")
	for next, want := range map[string]string{"https://evil.example/console": "/console", "//evil.example/console/x": "/console", "/docs": "/console"} {
		if a := g.post("/console/signin", "once", "x", "next", next, "key", secret).want(307, ""); a.header.Get("Location") != want {
			t.Errorf("a form for %q leads to %q, want %q", next, a.header.Get("Location"), want)
		}
	}
	h.clock.Advance(12 * time.Hour)
	g.post("/console/categories/new", "once", "x", "name", strings.Repeat("x", 15<<10)).leadsTo("/console/signin?next=%2Fconsole%2Fcategories%2Fnew")
}
