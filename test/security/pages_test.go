package security

import (
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"example.com/petstore/internal/portal/admin"
	"example.com/petstore/internal/portal/console"
	"example.com/petstore/internal/portal/page"
)

// A thing is a page of a console with an id of its own in its path.
type thing struct {
	page.Route
	path string
	id   string     // in the path, or ""
	form url.Values // what the owner would send; nil for a page
}

// things fills in the paths of all routes that need a session. idOf is asked once
// for each, with the segment before the id, so that what is tried on one spoils
// none of the others.
func things(routes []page.Route, idOf func(kind string, n int) string) (all []thing) {
	for i, r := range routes {
		if r.Needs == 0 {
			continue
		}
		one := thing{Route: r, path: strings.TrimSuffix(r.Path, "{$}")}
		if strings.Contains(one.path, "{id}") {
			one.id = idOf(strings.Split(one.path, "/")[2], i)
			one.path = strings.ReplaceAll(one.path, "{id}", one.id)
		}
		all = append(all, one)
	}
	return all
}

// fill reads every form as its owner sees it.
func fill(t *testing.T, all []thing, owner visitor) {
	t.Helper()
	for i := range all {
		if all[i].Method == http.MethodPost && !all[i].unsent() {
			page := owner.send("GET", all[i].path, nil, nil).must(200)
			all[i].form = read(t, page.Body).form(t, all[i].path).fields
		}
	}
}

// unsent reports whether it is a page about a delivery, of which there is none here: even its owner finds nothing.
func (one thing) unsent() bool { return strings.Contains(one.Path, "/delivery") }

// as sends the page's request as it is.
func (one thing) as(b visitor) answer {
	b.t.Helper()
	return b.send(one.Method, one.path, one.form, nil)
}

// elsewhere are what a browser says of a request that another site made it send.
func elsewhere() []map[string]string {
	return []map[string]string{
		{"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Origin": "http://evil.example"}, {"Origin": "null"}, {"Origin": "http://127.0.0.1:1"},
	}
}

// TestPages tries every page of the workspace's console, of which a new one
// fails until it is as closed: without a session, with one that is none, with
// another workspace's, with a key that may only look, and from another site.
func TestPages(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	mine, theirs := s.workspace("mine"), s.workspace("theirs")
	reader, banned := s.key("theirs", "--scope=read").Key, s.key("theirs")
	routes := console.Routes()
	spare := map[int]string{}
	for i, r := range routes {
		if strings.HasPrefix(r.Path, "/console/keys/{id}") {
			spare[i] = s.key("theirs", "--name="+planted).ID
		}
	}
	petstore.Must(t, s.dir, "key", "ban", banned.ID, "--for=1h", "--reason=test")
	s.serve()
	s.stock(mine, "Own", 1)
	s.stock(theirs, planted, len(routes)+2)
	for i, r := range routes {
		if strings.HasPrefix(r.Path, "/console/webhooks/{id}") {
			spare[i] = s.hook(theirs)
		}
	}
	s.due(theirs)
	owner := s.signedIn(theirs)
	all := things(routes, func(kind string, n int) string {
		switch kind {
		case "keys", "webhooks":
			return spare[n]
		case "pets", "stock", "categories", "orders":
			return strconv.Itoa(n + 2) // the other workspace has 1 alone
		case "events":
			return strconv.Itoa(n + 20) // of which it has a few
		case "requests":
			s.do(request{method: "GET", path: "/pets/999999", key: theirs, header: map[string]string{"X-Request-Id": planted + "-1"}}).must(404)
			return planted + "-1"
		}
		t.Fatalf("no id of %s is known; teach this test", kind)
		return ""
	})
	fill(t, all, owner)
	keys := owner.keys()
	before := s.everything(theirs)

	strangers := map[string]visitor{
		"without a session": s.nobody(), "with half a session": {t, s.URL, owner.cookie[:len(owner.cookie)-8]},
		"with another cookie's text": {t, s.URL, "petstore_session=" + s.operatorToken()}, "with an operator's session": {t, s.URL, "petstore_session=" + value(s.operator())},
	}
	other, looker, barred := s.signedIn(mine), s.signedIn(reader), s.signedIn(banned.Key)
	for _, one := range all {
		for who, b := range strangers {
			one.as(b).asksToSignIn(who)
		}
		s.tryForeignPage(one, other)
		if one.Method != http.MethodPost {
			one.as(owner) // to look changes nothing
			continue
		}
		if a := one.as(looker); !one.Free && a.Status != http.StatusForbidden { // one may always sign out
			t.Errorf("%s by one who may only look = %d, want 403", a.what, a.Status)
		} else if one.Free {
			other, looker = s.signedIn(mine), s.signedIn(reader)
		} else if a := one.as(barred); a.Status != http.StatusTooManyRequests || a.Header.Get("Retry-After") == "" {
			t.Errorf("%s by one who is banned = %d, Retry-After %q, want 429", a.what, a.Status, a.Header.Get("Retry-After"))
		}
		for _, from := range elsewhere() {
			if a := owner.send(one.Method, one.path, one.form, from); a.Status != http.StatusForbidden {
				t.Errorf("%s from %v = %d, want 403", a.what, from, a.Status)
			}
		}
	}
	if after := s.everything(theirs); after != before {
		t.Errorf("what the other workspace has changed:\n%s\nbefore:\n%s", after, before)
	}
	if after := owner.keys(); after != keys {
		t.Errorf("the keys of the other workspace changed:\n%s\nbefore:\n%s", after, keys)
	}
	s.wantOpen(all, owner)
}

// keys returns what was done to the workspace's keys, and not with them.
func (b visitor) keys() (all string) {
	b.t.Helper()
	for line := range strings.Lines(b.send("GET", "/console/keys.csv", nil, nil).must(200).Body) {
		columns := strings.Split(strings.Replace(line, `"read,write"`, "both", 1), ",")
		all += strings.Join(columns[:8], ",") + "\n"
	}
	return all
}

// value returns the text of the browser's session.
func value(b visitor) string {
	_, text, _ := strings.Cut(b.cookie, "=")
	return text
}

// tryForeignPage asks for what another workspace has: it is not there, and the
// answer is that to what nobody has. A page without an id shows nothing of it, and
// a form without one takes nothing of it.
func (s *site) tryForeignPage(one thing, other visitor) {
	s.t.Helper()
	one.form = maps.Clone(one.form)
	one.form.Del("once") // by which it would be shown again, whatever it says
	refers := one.refers()
	a := one.as(other)
	switch {
	case one.id != "":
		absent := one
		absent.id = "key_0000000000000000"
		if _, err := strconv.Atoi(one.id); err == nil {
			absent.id = "999999"
		}
		absent.path = strings.ReplaceAll(one.path, one.id, absent.id)
		want := strings.ReplaceAll(absent.as(other).Body, absent.id, one.id)
		if a.Status != http.StatusNotFound || a.Body != want {
			s.t.Errorf("%s of another workspace = %d, want 404 and the answer to what nobody has:\n%s\n%s", a.what, a.Status, a.Body, want)
		}
	case refers:
		if a.Status != http.StatusUnprocessableEntity {
			s.t.Errorf("%s with %v of another workspace = %d, want 422", a.what, one.form, a.Status)
		}
	case one.Path == "/console/pets/import" && a.Status == http.StatusUnprocessableEntity: // no file comes with it
	case a.Status >= 400:
		s.t.Errorf("%s = %d, want it done for oneself", a.what, a.Status)
	}
	if strings.Contains(a.Body, planted) || strings.Contains(a.Body, "theirs") {
		s.t.Errorf("%s shows what another workspace has: %s", a.what, a.Body)
	}
}

// refers has the form name another workspace's things wherever it names any, and
// reports whether it does.
func (one thing) refers() (found bool) {
	for name := range one.form {
		if strings.HasSuffix(name, "Id") {
			one.form.Set(name, "2")
			found = true
		}
	}
	return found
}

// wantOpen holds that the owner gets what all others were refused: it is there.
func (s *site) wantOpen(all []thing, owner visitor) {
	s.t.Helper()
	done := 0
	for _, one := range all {
		if one.Method == http.MethodPost && one.Path == "/console/signout/everywhere" { // and nothing after it
			continue
		}
		a := one.as(owner)
		if a.Status >= 400 && a.Status != http.StatusUnprocessableEntity && !one.unsent() || strings.HasPrefix(a.Header.Get("Location"), "/console/signin") {
			s.t.Errorf("its owner's %s = %d %s, want it done", a.what, a.Status, a.Body)
		}
		if one.Method == http.MethodPost && a.Status == http.StatusSeeOther {
			done++
		}
	}
	if done == 0 {
		s.t.Error("no form did anything for its owner")
	}
}

// TestOpenPages holds that nothing in the consoles is for everybody but what
// signs in and out, that these forms too are not taken from other sites, and that
// no method is known but those of the pages.
func TestOpenPages(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	key := s.workspace("shop")
	s.serve()
	owner, operator := s.signedIn(key), s.operator()
	open := map[string]bool{"/console/signin": true, "/console/signout": true, "/console/link": true, "/console/examples.json": true}
	for in, routes := range map[visitor][]page.Route{owner: console.Routes(), operator: admin.Routes()} {
		for _, r := range routes {
			if r.Needs == 0 && !open[r.Path] {
				t.Errorf("%s %s is for everybody", r.Method, r.Path)
			}
			if r.Needs == 0 && r.Method == http.MethodPost {
				for _, from := range elsewhere() {
					if a := in.send("POST", r.Path, url.Values{"key": {key}, "token": {"x"}}, from); a.Status != http.StatusForbidden || a.Header.Get("Set-Cookie") != "" {
						t.Errorf("%s from %v = %d, want 403 and no cookie", a.what, from, a.Status)
					}
				}
			}
			for _, method := range []string{"PUT", "PATCH", "DELETE", "PROPFIND"} {
				path := strings.NewReplacer("{id}", "1", "{$}", "").Replace(r.Path)
				if a := in.send(method, path, nil, map[string]string{"X-API-Key": key}); a.Status != http.StatusMethodNotAllowed && a.Status != http.StatusNotFound && a.Status != http.StatusForbidden {
					t.Errorf("%s = %d, want 405 or 404", a.what, a.Status)
				}
			}
		}
		in.send("GET", "/console", nil, nil).must(200) // still signed in
	}
}

// TestOperatorPages tries every page of the operator's console without an
// operator's session, and from another site, and looks for them on the public
// listener.
func TestOperatorPages(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	key := s.workspace("shop", "free")
	banned := s.key("shop")
	petstore.Must(t, s.dir, "key", "ban", banned.ID, "--for=1h", "--reason=test")
	s.serve()
	operator, owner := s.operator(), s.signedIn(key)
	all := things(admin.Routes(), func(kind string, _ int) string {
		id, ok := map[string]string{"workspaces": "1", "bans": banned.ID}[kind]
		if !ok {
			t.Fatalf("no id of %s is known; teach this test", kind)
		}
		return id
	})
	fill(t, all, operator)
	strangers := map[string]visitor{
		"without a session": {t, s.Ops, ""}, "with half a session": {t, s.Ops, operator.cookie[:len(operator.cookie)-8]},
		"with a workspace's session": {t, s.Ops, owner.cookie}, "with a workspace's session by another name": {t, s.Ops, "petstore_operator=" + value(owner)},
		"with a link that was not used": {t, s.Ops, "petstore_operator=" + s.operatorToken()},
	}
	public := map[string]bool{}
	for _, r := range console.Routes() {
		public[r.Path] = true
	}
	before := operator.send("GET", "/console/workspaces", nil, nil).must(200).Body + operator.send("GET", "/console/bans", nil, nil).must(200).Body
	for _, one := range all {
		for who, b := range strangers {
			one.as(b).asksToSignIn(who)
		}
		if one.Method == http.MethodPost {
			for _, from := range elsewhere() {
				if a := operator.send(one.Method, one.path, one.form, from); a.Status != http.StatusForbidden {
					t.Errorf("%s from %v = %d, want 403", a.what, from, a.Status)
				}
			}
		}
		if public[one.Path] {
			continue
		}
		for _, cookie := range []string{operator.cookie, owner.cookie, "petstore_session=" + value(operator)} {
			if a := one.as(visitor{t, s.URL, cookie}); a.Status != http.StatusNotFound {
				t.Errorf("%s on the public listener = %d, want 404", a.what, a.Status)
			}
		}
	}
	if after := operator.send("GET", "/console/workspaces", nil, nil).must(200).Body + operator.send("GET", "/console/bans", nil, nil).must(200).Body; after != before {
		t.Errorf("something changed:\n%s\nbefore:\n%s", after, before)
	}
	s.wantOpen(all, operator)
}
