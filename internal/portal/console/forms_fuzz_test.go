package console_test

import (
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
)

// forms are the pages that take one, with what a browser would send.
func forms() [][2]string {
	return [][2]string{
		{"/console/pets/new", "name=Rex&categoryId=1&status="},
		{"/console/pets/1", "name=Rex&categoryId=1&status=pending&version=x"},
		{"/console/pets/1/delete", "version=x"},
		{"/console/categories/new", "name=Cats&description=They%0D%0Ameow"},
		{"/console/categories/1", "name=Dogs&description="},
		{"/console/categories/1/delete", ""},
		{"/console/pets/1/stock", "quantity=+7+"},
		{"/console/orders/new", "petId=1&quantity=1&shipDate=2026-04-01T10%3A30&complete=true"},
		{"/console/orders/1", "shipDate=2026-04-01"},
		{"/console/orders/1/complete", "version="},
		{"/console/orders/1/cancel", ""},
		{"/console/keys/new", "name=till&scopes=read&scopes=write&expiresAt=24"},
		{"/console/signin", "key=pst_x&next=%2Fconsole%2Fpets"},
		{"/console/link", "token=x"},
		{"/console/signout", ""},
		{"/console/pets/1/add", "units=-1"},
		{"/console/pets/import", "do=import"},
	}
}

// serve has a console answer a request without a connection, signed in if there is a cookie.
func serve(pages http.Handler, method, path, cookie, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://petstore.example/", strings.NewReader(body))
	path, r.URL.RawQuery, _ = strings.Cut(path, "?")
	r.URL.Path, r.RequestURI = path, path
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if cookie != "" {
		r.Header.Set("Cookie", cookie)
	}
	w := httptest.NewRecorder()
	pages.ServeHTTP(w, r)
	return w
}

// session returns the cookie of who signs in with a key.
func (h *house) session(secret string) string {
	h.t.Helper()
	w := serve(h.api, http.MethodPost, "/console/signin", "", "key="+secret)
	cookie, _, _ := strings.Cut(w.Header().Get("Set-Cookie"), ";")
	if w.Code != http.StatusSeeOther || cookie == "" {
		h.t.Fatalf("signing in answers %d with the cookie %q", w.Code, cookie)
	}
	return cookie
}

// addForms adds forms as the pages send them, and odd ones.
func addForms(f *testing.F) {
	for i, form := range forms() {
		f.Add(uint8(i), form[1])
	}
	f.Add(uint8(0), "name=%22%3E%3Cx-evil%3E&categoryId=%3Cx-evil%3E&status=%3Cx-evil%3E")
	f.Add(uint8(3), "name=&description=%3C/textarea%3E%3Cx-evil%3E")
	f.Add(uint8(7), "petId=1&quantity=1&shipDate=0000-01-01T00:00:00%2B01:00")
	f.Add(uint8(8), "shipDate=9999-12-31T23:59:59-01:00")
	f.Add(uint8(8), "shipDate=%zz")
	f.Add(uint8(1), "name=a&name=b;c")
	f.Add(uint8(12), "next=//x/console/")
}

// FuzzForms sends any body to any form of a workspace that is as it was made. It is carried out, or the page shows the form with what
// was entered and what was wrong with it; and what was stored can be shown and sent.
func FuzzForms(f *testing.F) {
	addForms(f)
	var (
		h      = newHouse(f)
		n      int
		w      access.Workspace
		cookie string // "" if something was carried out in the last one
	)
	f.Fuzz(func(t *testing.T, which uint8, body string) {
		if h.t = t; cookie == "" {
			n++
			w = h.workspace(fmt.Sprint("shop ", n))
			cookie = h.ordered(w)
		}
		path := forms()[int(which)%len(forms())][0]
		a := serve(h.api, http.MethodPost, path, cookie, body)
		text := a.Body.String()
		switch a.Code {
		case http.StatusSeeOther:
			if to := a.Header().Get("Location"); to != "/console" && !strings.HasPrefix(to, "/console/") {
				t.Errorf("POST %s with %q leads to %q", path, body, to)
			}
		case http.StatusOK:
			if path != "/console/keys/new" || !secretIn.MatchString(text) {
				t.Errorf("POST %s with %q answers 200 without a new key:\n%s", path, body, text)
			}
		case http.StatusUnprocessableEntity:
			checkEntered(t, path, body, text)
		case http.StatusBadRequest, http.StatusGone:
		default:
			t.Errorf("POST %s with %q answers %d:\n%s", path, body, a.Code, text)
		}
		if sent, err := url.ParseQuery(body); err != nil && a.Code != http.StatusBadRequest {
			t.Errorf("POST %s with %q, which is no form but for %q, answers %d", path, body, sent, a.Code)
		}
		checkPage(t, path+" with "+body, text)
		if a.Code == http.StatusSeeOther || a.Code == http.StatusOK {
			if path == "/console/signout" {
				if after := serve(h.api, http.MethodGet, "/console", cookie, ""); after.Code != http.StatusSeeOther {
					t.Errorf("after signing out the cookie answers %d", after.Code)
				}
			} else {
				h.checkShown(t, w, cookie)
			}
			cookie = ""
		}
	})
}

// ordered gives a workspace stock and an order, and returns the cookie of who is signed in to it.
func (h *house) ordered(w access.Workspace) (cookie string) {
	h.t.Helper()
	ctx := h.t.Context()
	must(h.t, errOf(h.shop.UpdateInventory(ctx, w.ID, 1, 10, petstore.Condition{})))
	must(h.t, errOf(h.shop.CreateOrder(ctx, w.ID, petstore.NewOrder{PetID: 1, Quantity: 1}, nil)))
	_, secret := h.key(w, access.Read|access.Write|access.Manage, time.Time{})
	return h.session(secret)
}

// checkPage checks that a page is well formed, whatever was reflected in it.
func checkPage(t *testing.T, what, page string) {
	t.Helper()
	if strings.Contains(page, "<x-evil") {
		t.Errorf("%q: an element of the request's is in the page:\n%s", what, page)
	}
	for range elements(t, what, page) {
		continue
	}
}

// elements returns the start tags of a page.
func elements(t *testing.T, what, page string) (all []xml.StartElement) {
	t.Helper()
	page = strings.Map(func(r rune) rune { // which HTML has, and XML does not
		if unicode.IsControl(r) && r > 0x7e || r < ' ' && r != '\n' && r != '\t' || r == 0xfffe || r == 0xffff {
			return unicode.ReplacementChar
		}
		return r
	}, page)
	d := xml.NewDecoder(strings.NewReader(strings.TrimPrefix(page, "<!DOCTYPE html>")))
	d.Entity = xml.HTMLEntity
	for {
		token, err := d.Token()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatalf("%q: the page is not well formed: %v in\n%s", what, err, page)
		}
		if start, ok := token.(xml.StartElement); ok {
			all = append(all, start.Copy())
		}
	}
}

// checkEntered checks that a form shows again what was entered into its lines.
func checkEntered(t *testing.T, path, body, page string) {
	t.Helper()
	sent, err := url.ParseQuery(body)
	if err != nil {
		return
	}
	for _, e := range elements(t, path+" with "+body, page) {
		attributes := map[string]string{}
		for _, a := range e.Attr {
			attributes[a.Name.Local] = a.Value
		}
		kind, name := attributes["type"], attributes["name"]
		if e.Name.Local != "input" || kind != "" && kind != "datetime-local" || !sent.Has(name) || path == "/console/signin" {
			continue
		}
		want := sent.Get(name)
		if got := attributes["value"]; utf8.ValidString(want) && !strings.ContainsFunc(want, unicode.IsControl) && !strings.ContainsAny(want, "\ufffe\uffff") && got != want {
			t.Errorf("POST %s with %q: the field %s shows %q, want %q", path, body, name, got, want)
		}
	}
}

// checkShown checks that the pages show what is stored, and that the API can send it.
func (h *house) checkShown(t *testing.T, w access.Workspace, cookie string) {
	t.Helper()
	for _, path := range []string{"/console/pets", "/console/categories", "/console/pets/1", "/console/orders", "/console/keys", "/console/orders.csv", "/console/pets.csv"} {
		if a := serve(h.api, http.MethodGet, path, cookie, ""); a.Code != http.StatusOK {
			t.Errorf("GET %s answers %d:\n%s", path, a.Code, a.Body)
		} else if !strings.HasSuffix(path, ".csv") {
			checkPage(t, path, a.Body.String())
		}
	}
	orders, err := h.shop.Orders(t.Context(), w.ID, petstore.OrderQuery{Page: petstore.Page{Limit: 100}})
	must(t, err)
	for _, o := range orders {
		if at, ok := petstore.ParseTime(o.ShipDate.String()); o.ShipDate.Valid && (!ok || at != o.ShipDate) {
			t.Errorf("the order ships at %q, which is no time of the API", o.ShipDate)
		}
	}
}

// lists are the pages that a query narrows.
func lists() []string {
	return []string{
		"/console", "/console/pets", "/console/pets.csv", "/console/categories", "/console/categories.csv", "/console/pets/find", "/console/categories/find", "/console/orders",
		"/console/orders.csv", "/console/orders/new", "/console/keys", "/console/keys.csv", "/console/requests", "/console/requests.csv", "/console/signin", "/console/link", "/console/events",
	}
}

// FuzzConsoleQueries has the lists of both consoles, and the pages below any id, asked with any query. They answer with a
// page, whose links stay in the console.
func FuzzConsoleQueries(f *testing.F) {
	for i, query := range []string{
		"", "name=%22%3E%3Cx-evil%3E&status=sold&category=1&after=1", "after=9223372036854775807", "max=-1&status=x", "state=open&petId=1&from=2026-01-01&to=9999-12-31",
		"range=hour", "outcome=2xx&key=k&path=%2F&method=GET", "next=//x", "token=AAAA", "petId=99999999999999999999", ";=%zz", "state=all&plan=free",
	} {
		f.Add(uint8(i), "1", query)
	}
	f.Add(uint8(7), "01", "a")
	f.Add(uint8(9), "-1/delete", "")
	f.Add(uint8(0), "/1", "")
	f.Add(uint8(0), "1/../2", "")
	h := newHouse(f)
	w := h.workspace("shop")
	_, secret := h.key(w, access.Read|access.Manage, time.Time{})
	for _, name := range strings.Fields("Mia Max Ida") {
		must(f, errOf(h.shop.CreatePet(f.Context(), w.ID, petstore.NewPet{Name: name, CategoryID: 1}, nil)))
	}
	cookie := h.session(secret)
	office, operator := h.officeSession()
	f.Fuzz(func(t *testing.T, which uint8, id, query string) {
		path := lists()[int(which)%len(lists())]
		for _, at := range []string{path, "/console/pets/" + id, "/console/orders/" + id, "/console/categories/" + id, "/console/events/" + id} {
			h.checkList(t, serve(h.api, http.MethodGet, at+"?"+query, cookie, ""), at, query)
		}
		for _, at := range []string{"/console", "/console/workspaces", "/console/bans", "/console/audit", "/console/health", "/console/workspaces/" + id, "/console/bans/" + id} {
			h.checkList(t, serve(office, http.MethodGet, at+"?"+query, operator, ""), at, query)
		}
	})
}

// checkList checks the answer to a GET.
func (h *house) checkList(t *testing.T, a *httptest.ResponseRecorder, path, query string) {
	t.Helper()
	what, page := path+"?"+query, a.Body.String()
	switch a.Code {
	case http.StatusOK, http.StatusNotFound, http.StatusGone, http.StatusUnprocessableEntity, http.StatusRequestURITooLong:
	case http.StatusSeeOther:
		return
	default:
		t.Fatalf("GET %q answers %d:\n%s", what, a.Code, page)
	}
	if strings.HasPrefix(a.Header().Get("Content-Type"), "text/csv") {
		return
	}
	checkPage(t, what, page)
	for _, e := range elements(t, what, page) {
		for _, at := range e.Attr {
			if to := at.Value; at.Name.Local == "href" && e.Name.Local == "a" && !strings.HasPrefix(to, "/console") && !strings.HasPrefix(to, "/docs") && !strings.HasPrefix(to, "#") {
				t.Errorf("GET %q has a link to %q", what, to)
			}
		}
	}
}
