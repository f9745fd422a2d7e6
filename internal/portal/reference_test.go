package portal

import (
	"compress/gzip"
	"encoding/xml"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/portal/asset"
	"example.com/petstore/internal/portal/console"
)

func newReference(t *testing.T) *reference {
	t.Helper()
	h, err := NewReference(ReferenceOptions{
		BaseURL: "https://petstore.example/", Version: "1.2.3", Sunset: time.Date(2031, 3, 9, 12, 0, 0, 0, time.UTC), Sandbox: []string{"read", "write"},
		NotFound: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }),
	})
	must(t, err)
	return h.(*reference)
}

func get(t *testing.T, h http.Handler, path string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// An element is one start tag of a page.
type element struct {
	name  string
	attrs map[string]string
}

// elements parses a page strictly enough to find what a browser would repair.
func elements(t *testing.T, page string) []element {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(page))
	d.Strict, d.Entity = true, xml.HTMLEntity
	var list []element
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatalf("the page is not well-formed: %v", err)
		}
		if start, ok := token.(xml.StartElement); ok {
			e := element{start.Name.Local, map[string]string{}}
			for _, a := range start.Attr {
				e.attrs[a.Name.Local] = a.Value
			}
			list = append(list, e)
		}
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	h := newReference(t)
	for path := range h.site().pages {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			w := get(t, h, path)
			if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "text/html; charset=utf-8" {
				t.Fatalf("GET %s = %d %s", path, w.Code, w.Header().Get("Content-Type"))
			}
			if got := w.Header().Get("Content-Security-Policy"); got != asset.Policy || strings.Contains(got, "unsafe") {
				t.Errorf("policy = %q, want %q", got, asset.Policy)
			}
			if w.Body.Len() > 100<<10 {
				t.Errorf("the page has %d bytes, want at most 100 KiB", w.Body.Len())
			}
			if small := get(t, h, path, "Accept-Encoding", "gzip").Body.Len(); small > 40_000 {
				t.Errorf("the page has %d bytes on its way, want at most 40,000", small)
			}
			checkElements(t, elements(t, w.Body.String()))
			if lead := regexp.MustCompile(`<p class="lead">.*`).FindString(w.Body.String()); strings.Contains(lead, "`") {
				t.Errorf("the lead has marks of Markdown: %s", lead)
			}
		})
	}
}

// checkElements looks for what the policy forbids and what a reader without eyes or mouse would miss.
func checkElements(t *testing.T, page []element) {
	t.Helper()
	ids := map[string]bool{}
	for _, e := range page {
		for name := range e.attrs {
			if name == "style" || strings.HasPrefix(name, "on") {
				t.Errorf("<%s> has the attribute %s", e.name, name)
			}
		}
		if id := e.attrs["id"]; id != "" {
			if ids[id] {
				t.Errorf("the id %q occurs twice", id)
			}
			ids[id] = true
		}
		_, alt := e.attrs["alt"]
		switch {
		case e.name == "style", e.name == "script" && !strings.HasPrefix(e.attrs["src"], "/docs/assets/"):
			t.Errorf("the page has an inline <%s>", e.name)
		case e.name == "img" && !alt:
			t.Errorf("the picture %s has no alt", e.attrs["src"])
		}
	}
	for _, e := range page {
		if to := e.attrs["for"]; to != "" && !ids[to] {
			t.Errorf("a label is for %q, which is not there", to)
		}
	}
}

func TestLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	h := newReference(t)
	ids := map[string][]string{}
	pages := map[string][]element{}
	inConsole := map[string]bool{}
	for _, r := range console.Routes() {
		inConsole[r.Path] = inConsole[r.Path] || r.Method == http.MethodGet
	}
	for path := range h.site().pages {
		pages[path] = elements(t, get(t, h, path).Body.String())
		for _, e := range pages[path] {
			ids[path] = append(ids[path], e.attrs["id"])
		}
	}
	for from, page := range pages {
		for _, e := range page {
			href := e.attrs["href"] + e.attrs["src"] + e.attrs["action"]
			if href == "" || strings.HasPrefix(href, "/openapi.") || inConsole[href] || href == searchPath {
				continue
			}
			path, id, _ := strings.Cut(href, "#")
			if path == "" {
				path = from
			}
			if h.site().assets.Find(path) == nil && h.site().pages[path] == nil {
				t.Errorf("%s links to %s, which is no page", from, href)
			}
			if id != "" && !slices.Contains(ids[path], id) {
				t.Errorf("%s links to %s, where there is no such id", from, href)
			}
		}
	}
}

func TestEveryOperationHasASection(t *testing.T) {
	t.Parallel()
	h := newReference(t)
	d := newDescription()
	for _, o := range d.Operations() {
		path, _, _ := strings.Cut(sectionURL(o), "#")
		page := get(t, h, path).Body.String()
		if !slices.ContainsFunc(elements(t, page), func(e element) bool { return e.name == "section" && e.attrs["id"] == o.OperationID }) {
			t.Errorf("%s has no section for %s", path, o.OperationID)
		}
		section := page[strings.Index(page, `id="`+o.OperationID+`"`):]
		section = section[:strings.Index(section, "</section>")]
		for _, want := range expected(d, o) {
			if !strings.Contains(section, want) {
				t.Errorf("the section of %s lacks %q", o.OperationID, want)
			}
		}
	}
}

// expected is what a section must show.
func expected(d *description, o *operation) []string {
	want := []string{o.Summary, "curl", "JavaScript", "Python", ">Go<", "https://petstore.example/", `data-method="` + o.Method + `"`}
	for _, p := range d.Of(o) {
		want = append(want, `<code class="name">`+p.Name+"</code>")
	}
	for _, r := range o.Responses {
		want = append(want, ">"+r.Key+"</span>")
		for _, code := range d.Response(r.Value).Codes {
			want = append(want, "<code>"+code+"</code>")
		}
	}
	if o.Deprecated {
		want = append(want, "Deprecated", "9 March 2031", o.Successor)
	}
	if o.Stability != "" {
		want = append(want, `class="badge `+o.Stability+`"`)
	}
	return want
}

func TestErrorsGuideHasEveryCode(t *testing.T) {
	t.Parallel()
	body := get(t, newReference(t), guidePath+"errors").Body.String()
	page := elements(t, body)
	for _, code := range newDescription().Components.Schemas["Error"].Properties[0].Value.Open {
		if !slices.ContainsFunc(page, func(e element) bool { return e.attrs["id"] == code }) {
			t.Errorf("the guide to errors lacks %s", code)
		}
	}
	if _, section, found := strings.Cut(body, "</h2><p></p>"); found {
		t.Errorf("a status has no advice, before %.200s", section)
	}
}

func TestPaths(t *testing.T) {
	t.Parallel()
	h := newReference(t)
	tests := []struct {
		method, path string
		want         int
		header, is   string
	}{
		{"GET", "/docs", 200, "Vary", "Accept-Encoding"},
		{"HEAD", "/docs", 200, "Content-Type", "text/html; charset=utf-8"},
		{"GET", "/docs/", 308, "Location", "/docs"},
		{"GET", "/docs/animals/", 308, "Location", "/docs/animals"},
		{"GET", "/docs/guides/sunset", 200, "X-Content-Type-Options", "nosniff"},
		{"GET", "/docs/nothing", 418, "", ""},
		{"GET", "/docs/assets/portal.css", 418, "", ""},
		{"GET", "/docs/../go.mod", 418, "", ""},
		{"POST", "/docs", 405, "Allow", "GET, HEAD"},
	}
	for _, tt := range tests {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(tt.method, tt.path, nil))
		if w.Code != tt.want || tt.header != "" && w.Header().Get(tt.header) != tt.is {
			t.Errorf("%s %s = %d, %s %q, want %d, %q", tt.method, tt.path, w.Code, tt.header, w.Header().Get(tt.header), tt.want, tt.is)
		}
		if tt.method == "HEAD" && w.Body.Len() > 0 {
			t.Errorf("HEAD %s has a body", tt.path)
		}
	}
}

func TestAssets(t *testing.T) {
	t.Parallel()
	h := newReference(t)
	types := map[string]string{"portal.css": "text/css; charset=utf-8", "portal.js": "text/javascript; charset=utf-8", "icon.svg": "image/svg+xml"}
	for _, name := range slices.Sorted(maps.Keys(types)) {
		path, err := h.site().assets.Path(name)
		must(t, err)
		w := get(t, h, path)
		if w.Code != 200 || w.Header().Get("Content-Type") != types[name] || !strings.Contains(w.Header().Get("Cache-Control"), "immutable") {
			t.Errorf("GET %s = %d %s %s", path, w.Code, w.Header().Get("Content-Type"), w.Header().Get("Cache-Control"))
		}
	}
	if _, err := h.site().assets.Path("none.css"); err == nil {
		t.Errorf("path(none.css) = nil error")
	}
}

func TestEncodingsAndValidators(t *testing.T) {
	t.Parallel()
	h := newReference(t)
	plain, small := get(t, h, "/docs/orders"), get(t, h, "/docs/orders", "Accept-Encoding", "br, gzip")
	z, err := gzip.NewReader(small.Body)
	must(t, err)
	text, err := io.ReadAll(z)
	if err != nil || string(text) != plain.Body.String() {
		t.Errorf("the page in gzip differs from the plain one: %v", err)
	}
	if plain.Header().Get("ETag") == small.Header().Get("ETag") {
		t.Errorf("both encodings have the ETag %s", plain.Header().Get("ETag"))
	}
	again := get(t, h, "/docs/orders", "If-None-Match", plain.Header().Get("ETag"))
	if again.Code != http.StatusNotModified || again.Body.Len() != 0 || again.Header().Get("Content-Security-Policy") != asset.Policy {
		t.Errorf("GET with If-None-Match = %d with %d bytes, want 304 without", again.Code, again.Body.Len())
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"", "petstore", "ftp://petstore.example", "https://"} {
		if _, err := NewReference(ReferenceOptions{BaseURL: base}); err == nil {
			t.Errorf("NewReference with the base URL %q = nil error", base)
		}
	}
	h, err := NewReference(ReferenceOptions{BaseURL: "http://127.0.0.1:8080"})
	must(t, err)
	if got := get(t, h, guidePath+"sunset").Body.String(); !strings.Contains(got, "5 December 2030") || !strings.Contains(got, "Thu, 05 Dec 2030 00:00:00 GMT") {
		t.Errorf("without an option the guide does not show the day of the description")
	}
}

// Behind a proxy that takes a prefix off the path, every link of ours has it, and the pages are found without.
func TestLinksBelowAPrefix(t *testing.T) {
	t.Parallel()
	h, err := NewReference(ReferenceOptions{BaseURL: "https://pets.example.com/shop"})
	must(t, err)
	addresses := regexp.MustCompile(`(?:href|src|action|data-index|data-path)="([^"]*)"`)
	for _, path := range []string{"/docs", "/docs/animals", guideList, guidePath + "errors", guidePath + "limits", searchPath + "?q=pet"} {
		w := get(t, h, path)
		if w.Code != http.StatusOK {
			t.Fatalf("GET %s = %d, want 200", path, w.Code)
		}
		ours := 0
		for _, m := range addresses.FindAllStringSubmatch(w.Body.String(), -1) {
			if strings.HasPrefix(m[1], "/shop/") {
				ours++
			} else if !strings.HasPrefix(m[1], "#") {
				t.Errorf("GET %s: link to %q, want one below /shop", path, m[1])
			}
		}
		if ours < 10 {
			t.Errorf("GET %s: only %d links below /shop", path, ours)
		}
	}
	if got := get(t, h, "/docs/").Header().Get("Location"); got != "/shop/docs" {
		t.Errorf("GET /docs/: Location = %q, want /shop/docs", got)
	}
}

// TestTextPages: each page is there in Markdown, without what only a screen has a use for, and a list leads to all.
func TestTextPages(t *testing.T) {
	t.Parallel()
	h := newReference(t)
	list := get(t, h, contentsPath).Body.String()
	for path := range h.site().pages {
		if path == "/docs" || path == guideList {
			continue
		}
		w := get(t, h, path+".md")
		text := w.Body.String()
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "text/markdown; charset=utf-8" || !strings.HasPrefix(text, "# ") {
			t.Errorf("GET %s.md = %d, %q, %.80q", path, w.Code, w.Header().Get("Content-Type"), text)
		}
		for _, bad := range []string{"<p>", "<table", "Try it", "Send GET", "\x00"} {
			if strings.Contains(text, bad) {
				t.Errorf("GET %s.md has %q", path, bad)
			}
		}
		if !strings.Contains(list, path+".md)") {
			t.Errorf("%s does not lead to %s.md", contentsPath, path)
		}
	}
	limits := get(t, h, "/docs/guides/limits.md").Body.String()
	for _, want := range []string{"| Plan", "| Free", "```http\nHTTP/1.1 200 OK\n", "## Wait and repeat", "](https://petstore.example/docs/guides/idempotency)"} {
		if !strings.Contains(limits, want) {
			t.Errorf("the guide to limits has no %q in Markdown:\n%s", want, limits)
		}
	}
	if keys := get(t, h, "/docs/guides/keys.md").Body.String(); !strings.Contains(keys, "](https://petstore.example/docs/guides/keys#manage)") {
		t.Errorf("a link within the guide to keys leads elsewhere in Markdown:\n%s", keys)
	}
	if w := get(t, h, "/docs/guides/none.md"); w.Code != http.StatusTeapot {
		t.Errorf("GET /docs/guides/none.md = %d, want what NotFound answers, 418", w.Code)
	}
}

// TestMissingPage: a reader who follows a wrong link gets a page, a program what it gets elsewhere.
func TestMissingPage(t *testing.T) {
	t.Parallel()
	h := newReference(t)
	for accepted, want := range map[string]int{"text/html,*/*;q=0.8": http.StatusNotFound, "application/json": http.StatusTeapot, "*/*": http.StatusTeapot, "text/html;q=0": http.StatusTeapot} {
		r := httptest.NewRequest(http.MethodGet, "/docs/%3Cb%3Egides", nil)
		r.Header.Set("Accept", accepted)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("Accept %s: %d, want %d", accepted, w.Code, want)
		}
		if want == http.StatusNotFound && (!strings.Contains(w.Body.String(), "/docs/&lt;b&gt;gides") || w.Header().Get("Content-Security-Policy") != asset.Policy) {
			t.Errorf("the page that is not there: %s", w.Body)
		}
	}
}

// TestSharedErrors: an operation's own errors stand apart from those of all.
func TestSharedErrors(t *testing.T) {
	t.Parallel()
	page := get(t, newReference(t), "/docs/orders").Body.String()
	_, page, _ = strings.Cut(page, `id="createOrder"`)
	own, shared, found := strings.Cut(page, `<details class="common">`)
	if !found || !strings.Contains(own, "insufficient_stock") || strings.Contains(own, "rate_limit_exceeded") || !strings.Contains(shared, "rate_limit_exceeded") {
		t.Errorf("the errors of createOrder are not apart from those of all operations")
	}
}
