package security

import (
	"encoding/xml"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"example.com/petstore/test/servertest"
)

// A visitor looks at a console without a browser: it knows forms and sessions, and can send what no browser would.
type visitor struct {
	t      *testing.T
	base   string // of the listener
	cookie string // NAME=VALUE, or ""
}

// nobody is not signed in.
func (s *site) nobody() visitor { return visitor{s.t, s.URL, ""} }

// signedIn begins a session in the workspace's console.
func (s *site) signedIn(key string) visitor {
	s.t.Helper()
	return s.nobody().enter("/console/signin", url.Values{"key": {key}}, "petstore_session")
}

// operator begins a session in the operator's console.
func (s *site) operator() visitor {
	s.t.Helper()
	return visitor{s.t, s.Ops, ""}.enter("/console/link", url.Values{"token": {s.operatorToken()}}, "petstore_operator")
}

// operatorToken returns what signs an operator in, once.
func (s *site) operatorToken() string {
	s.t.Helper()
	link, err := petstore.Run(s.dir, append([]string{"operator", "login", "--ops-addr=" + strings.TrimPrefix(s.Ops, "http://")}, s.db...)...)
	_, token, ok := strings.Cut(strings.TrimSpace(link), "token=")
	if err != nil || !ok {
		s.t.Fatalf("operator login: %q %v", link, err)
	}
	return token
}

// enter returns the visitor with the session that a form leads to.
func (b visitor) enter(path string, form url.Values, name string) visitor {
	b.t.Helper()
	a := b.send("POST", path, form, nil)
	for _, c := range (&http.Response{Header: a.Header}).Cookies() {
		if c.Name == name {
			b.cookie = name + "=" + c.Value
			return b
		}
	}
	b.t.Fatalf("%s = %d, and no session", path, a.Status)
	return b
}

// send asks for a page, or sends a form.
func (b visitor) send(method, path string, form url.Values, header map[string]string) answer {
	b.t.Helper()
	all := map[string]string{}
	if form != nil {
		all["Content-Type"] = "application/x-www-form-urlencoded"
	}
	maps.Copy(all, header)
	return b.sendBody(method, path, form.Encode(), all)
}

func (b visitor) sendBody(method, path, body string, header map[string]string) answer {
	b.t.Helper()
	if b.cookie != "" {
		header["Cookie"] = b.cookie
	}
	a, err := servertest.Send(b.t.Context(), client, servertest.Request{Method: method, URL: b.base + path, Body: body, Header: header})
	must(b.t, err)
	return answer{a, b.t, method + " " + path}
}

// asksToSignIn fails the test unless the answer leads to the sign-in page.
func (a answer) asksToSignIn(who string) {
	a.t.Helper()
	if a.Status == http.StatusForbidden && strings.Contains(a.Body, "session is over") {
		return // a form goes back to who sent it
	}
	if a.Status != http.StatusSeeOther || !strings.HasPrefix(a.Header.Get("Location"), "/console/signin") || a.Body != "" {
		a.t.Errorf("%s, %s = %d %.200s, want to be asked to sign in", a.what, who, a.Status, a.Body)
	}
}

// A formOn is a form of a page, with what it would send as it is.
type formOn struct {
	method, action string // as the page has them
	fields         url.Values
}

// A document is what a page consists of.
type document struct {
	forms     []formOn
	addresses []string // of the console, in links and for scripts
}

// read takes a page apart. Ours are XML but for the names of some characters.
func read(t *testing.T, page string) (d document) {
	t.Helper()
	in := xml.NewDecoder(strings.NewReader(page))
	in.Strict, in.AutoClose, in.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	list := "" // the select that options are of
	for {
		token, err := in.Token()
		if errors.Is(err, io.EOF) {
			return d
		} else if err != nil {
			t.Fatalf("a page cannot be read: %v\n%s", err, page)
		}
		e, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		has := map[string]string{}
		for _, a := range e.Attr {
			if has[a.Name.Local] = a.Value; strings.HasPrefix(a.Value, "/console") {
				d.addresses = append(d.addresses, a.Value)
			}
		}
		switch e.Name.Local {
		case "form":
			d.forms = append(d.forms, formOn{has["method"], has["action"], url.Values{}})
		case "select":
			list = has["name"]
			d.forms[len(d.forms)-1].fields[list] = nil
		case "option":
			d.forms[len(d.forms)-1].option(list, has)
		case "input", "textarea":
			d.forms[len(d.forms)-1].input(has)
		}
	}
}

// option chooses an option that is selected, or the first that says something.
func (f formOn) option(list string, has map[string]string) {
	_, selected := has["selected"]
	if now := f.fields.Get(list); selected || now == "" {
		f.fields.Set(list, has["value"])
	}
}

// input enters something where nothing is.
func (f formOn) input(has map[string]string) {
	name, value := has["name"], has["value"]
	_, checked := has["checked"]
	switch {
	case has["type"] == "radio":
		if now := f.fields.Get(name); checked || now == "" {
			f.fields.Set(name, value)
		}
		return
	case has["type"] == "checkbox":
		if checked {
			f.fields.Add(name, value)
		}
		return
	case value != "":
	case has["inputmode"] == "numeric":
		value = "1"
	case has["type"] == "date":
		value = "2026-03-01"
	case has["type"] == "datetime-local":
		value = "2026-03-01T12:00"
	case name == "url":
		value = "https://127.0.0.1:1/"
	default:
		value = "sample"
	}
	f.fields.Set(name, value)
}

// form returns the page's form that changes something.
func (d document) form(t *testing.T, path string) formOn {
	t.Helper()
	i := slices.IndexFunc(d.forms, func(f formOn) bool { return f.method == "post" && f.action == path })
	if i < 0 {
		i = slices.IndexFunc(d.forms, func(f formOn) bool { return f.method == "post" && f.action == "" })
	}
	if i < 0 {
		t.Fatalf("%s has no form", path)
	}
	return d.forms[i]
}
