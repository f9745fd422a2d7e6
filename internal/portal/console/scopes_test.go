package console_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/portal/console"
	"example.com/petstore/internal/portal/page"
	"example.com/petstore/internal/usage"
)

// needs returns the scopes of a key that asks the API for what is at a path of the console, or changes it.
func needs(method, path string) access.Scopes {
	switch {
	case strings.HasPrefix(path, "/console/keys"), strings.HasPrefix(path, "/console/webhooks"):
		return access.Manage
	case method == http.MethodPost && path != "/console/signout/everywhere":
		return access.Write
	}
	return access.Read
}

// TestScopesOfAPI: every page and download gives each key what the API gives it, and takes what the API takes; and none
// tells of keys and webhooks to a key that the API tells nothing of them.
func TestScopesOfAPI(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := h.workspace("shop")
	other, _ := h.key(w, access.Read, time.Time{})
	hook, _ := h.signedIn(w, access.Read|access.Manage).addHook("https://hook.example/secret")
	h.usage.Record(w.ID, usage.Event{At: h.clock.Now(), Method: "GET", Path: "/pets/1", Operation: "getPet", Status: 404, Deprecated: true, KeyID: other.ID, RequestID: "one"})
	h.save()
	ids := map[string]string{"pets": "1", "categories": "1", "events": "1", "keys": other.ID, "webhooks": strings.TrimPrefix(hook, "/console/webhooks/"), "requests": "one"}
	pages, forms := console.Routes(), map[string]bool{}
	for i := range pages {
		forms[pages[i].Path] = forms[pages[i].Path] || pages[i].Method == http.MethodPost
	}
	for _, of := range []access.Scopes{access.Read, access.Read | access.Write, access.Read | access.Manage, access.Read | access.Write | access.Manage} {
		g := h.signedIn(w, of)
		for i := range pages {
			r := &pages[i]
			if r.Needs == 0 {
				continue
			}
			kind, _, _ := strings.Cut(strings.TrimPrefix(r.Path, "/console/"), "/")
			id := "999"
			if r.Method == http.MethodGet && ids[kind] != "" {
				id = ids[kind]
			}
			one := g
			if kind == "signout" { // which ends the session
				one = h.signedIn(w, of)
			}
			a := one.look(r, strings.NewReplacer("{$}", "", "{id}", id).Replace(r.Path))
			if refused := a.status == http.StatusForbidden; refused == of.Has(needs(r.Method, r.Path)) {
				t.Errorf("%s %s with a key that has %s answers %d; the API needs %s", r.Method, r.Path, of, a.status, needs(r.Method, r.Path))
			}
			if !of.Has(access.Manage) && regexp.MustCompile(`/console/keys|hook\.example|`+other.ID).MatchString(a.body) {
				t.Errorf("%s tells a key that has %s of other keys, or of webhooks:\n%s", a.what, of, a.body)
			}
			if offers := strings.Contains(a.body, `<p class="acts"><button class="button`); forms[r.Path] && a.status == http.StatusOK && r.Method == http.MethodGet && offers != of.Has(needs(http.MethodPost, r.Path)) {
				t.Errorf("%s offers a key that has %s to send the form: %t", a.what, of, offers)
			}
		}
	}
}

// look asks for a page, or sends its form without a value.
func (g *guest) look(r *page.Route, path string) answer {
	g.t.Helper()
	if r.Method == http.MethodPost { // of what is not there: nothing is to change
		return g.post(path, "name", "")
	}
	return g.get(path)
}
