package security

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"example.com/petstore/internal/portal/console"
)

// pages are a console with somebody signed in, and what its paths name.
type pages struct {
	visitor
	routes    []console.Route
	idOf      func(kind string, n int) string
	token     string // of a link to sign in
	workspace bool   // it is the workspace's
}

// consoles returns both, with something on every page. Each route that names a
// key has one of its own: a form that revokes it spoils nothing else.
func (s *site) consoles(key string) []pages {
	s.t.Helper()
	banned := s.key("shop")
	if _, err := petstore.Run(s.dir, append([]string{"key", "ban", banned.ID, "--for=10h", "--reason=test"}, s.db...)...); err != nil {
		s.t.Fatal(err)
	}
	spare := map[int]string{}
	for i, r := range console.Routes() {
		if strings.HasPrefix(r.Path, "/console/keys/{id}") {
			spare[i] = s.key("shop").ID
		}
		if strings.HasPrefix(r.Path, "/console/webhooks/{id}") {
			spare[i] = s.hook(key)
		}
	}
	of := func(kind string, n int) string {
		if kind == "keys" || kind == "webhooks" {
			return spare[n]
		}
		return strconv.Itoa(n%pageful + 1)
	}
	ofOperator := func(kind string, _ int) string {
		switch kind {
		case "bans":
			return banned.ID
		case "keys":
			return s.key("shop").ID
		}
		return "1"
	}
	return []pages{
		{s.signedIn(key), console.Routes(), of, "token", true},
		{s.operator(), console.OperatorRoutes(), ofOperator, s.operatorToken(), false},
	}
}

// pageSpots returns every place that somebody fills in on the pages of the
// consoles: ids, forms, and queries.
func (s *site) pageSpots(t *testing.T, key string) (all []spot) {
	t.Helper()
	for _, in := range s.consoles(key) {
		all = append(all, in.openSpots()...)
		for _, one := range things(in.routes, in.idOf) {
			if one.id != "" {
				all = append(all, in.spot(one.Method, strings.Replace(one.path, one.id, one.id+"*", 1), "path", "id", "", ""))
			}
			page := in.send("GET", one.path, nil, nil)
			if one.Method == http.MethodPost {
				form := read(t, page.must(200).Body).form(t, one.path)
				all = append(all, in.formSpots(one.path, form.fields)...)
				maps.Copy(form.fields, form.unchecked)
				maps.Copy(form.fields, askedLater(form.fields))
				all = append(all, in.formSpots(one.path, form.fields)...)
			} else if strings.HasPrefix(page.Header.Get("Content-Type"), "text/html") {
				all = append(all, in.asked(t, one.path, page.Body)...)
			}
		}
	}
	slices.SortFunc(all, func(a, b spot) int { return strings.Compare(a.String(), b.String()) })
	return slices.CompactFunc(all, func(a, b spot) bool { return a.String() == b.String() })
}

// askedLater returns the fields that a form has only once something stands in its way: a name that several pets have, what
// somebody else changed, and a file that was imported before.
func askedLater(form url.Values) url.Values {
	later := url.Values{}
	if form.Has("petId") {
		later.Set("pet", "1")
		later.Set("asked", form.Get("petId"))
	}
	if form.Has("version") {
		later.Set("overwrite", form.Get("version"))
	}
	if form.Has("do") {
		later.Set("again", "true")
	}
	return later
}

// openSpots returns those of the pages for everybody, and the session.
func (in pages) openSpots() (all []spot) {
	fields := map[string]url.Values{"/console/link": {"token": {in.token}}}
	if in.workspace {
		fields["/console/signin"] = url.Values{"key": {in.token}, "next": {"/console"}}
	} else { // a link that is there once the log has a second page
		all = in.querySpots("/console/audit", url.Values{"before": {"99"}})
	}
	for path, form := range fields {
		all = append(append(all, in.formSpots(path, form)...), in.querySpots(path, form)...)
	}
	return append(all, in.spot("GET", "/console", "cookie", "session", "", ""))
}

// asked returns the queries of a page: of its filters, and of what it leads to
// when they are filled in.
func (in pages) asked(t *testing.T, path, page string) (all []spot) {
	t.Helper()
	addresses := read(t, page).addresses
	for _, f := range read(t, page).forms {
		if f.method == "get" {
			all = append(all, in.querySpots(path, f.fields)...)
			if found := in.send("GET", path+"?"+f.fields.Encode(), nil, nil); found.Status != http.StatusSeeOther { // to what was asked for by its number
				addresses = append(addresses, read(t, found.must(200).Body).addresses...)
			}
		}
	}
	for _, address := range addresses {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, in.querySpots(u.Path, u.Query())...)
	}
	return all
}

// formSpots returns the fields of a form, each in a request with the others.
func (in pages) formSpots(path string, form url.Values) (all []spot) {
	for name := range form {
		all = append(all, in.spot("POST", path, "form", name, "", starred(form, name)))
	}
	return all
}

// querySpots returns the parameters of a query. Those of a stream are the page's,
// which has the same code read them: it would let sqlmap wait without end.
func (in pages) querySpots(path string, query url.Values) (all []spot) {
	if strings.HasSuffix(path, "/live") {
		return nil
	}
	for name := range query {
		all = append(all, in.spot("GET", path, "query", name, "?"+starred(query, name), ""))
	}
	return all
}

// starred encodes values with a star after one of them.
func starred(values url.Values, name string) string {
	rest := maps.Clone(values)
	rest.Del(name)
	text := url.Values{name: values[name]}.Encode() + "*"
	if len(rest) > 0 {
		text = rest.Encode() + "&" + text
	}
	return text
}

func (in pages) spot(method, path, where, name, query, body string) spot {
	cookie := in.cookie
	if where == "cookie" {
		cookie += "*"
	}
	raw := fmt.Sprintf("%s %s%s HTTP/1.1\r\nHost: %s\r\nCookie: %s\r\n", method, path, query, strings.TrimPrefix(in.base, "http://"), cookie)
	if method == "POST" {
		raw += "Content-Type: application/x-www-form-urlencoded\r\n"
	}
	return spot{method + " " + strings.TrimSuffix(in.cookie, value(in.visitor)) + path, where, name, raw + "\r\n" + body}
}
