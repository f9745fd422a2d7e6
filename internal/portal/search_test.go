package portal

import (
	"html"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"example.com/petstore/internal/portal/asset"
)

func TestFind(t *testing.T) {
	t.Parallel()
	x := newReference(t).site().index()
	for _, c := range []struct{ question, first string }{
		{"cancel order", "/docs/orders#cancelOrder"},
		{"CREATE   pet", "/docs/animals#createPet"},
		{"/pets/{petId} delete", "/docs/animals#deletePet"},
		{"insufficient_stock", "/docs/guides/errors#insufficient_stock"},
		{"idempotency", "/docs/guides/idempotency"},
		{"shipDateFrom", "/docs/orders#listOrders"},
		// As people ask.
		{"pagination", "/docs/guides/pagination"},
		{"paging", "/docs/guides/pagination"},
		{"429", "/docs/guides/errors#s429"},
		{"idempotent", "/docs/guides/idempotency"},
		{"plan", "/docs/guides/limits"},
		{"rotate", "/docs/keys#rotateKey"},
		{"x-ratelimit-remaining", "/docs/guides/limits#headers"},
		{"console", "/docs/guides/keys#get"},
		{"sold out", "/docs/guides/errors#insufficient_stock"},
		{"filter by status", "/docs/animals#listPets"},
		{"how do I remove a product?", "/docs/animals#deletePet"},
		// With a letter wrong, left out, added or exchanged.
		{"insufficent stock", "/docs/guides/errors#insufficient_stock"}, //nolint:misspell // as it is often asked
		{"idempotancy", "/docs/guides/idempotency"},
		{"catgeory", "/docs/categories#createCategory"},
		{"inventorry", "/docs/inventory#listInventory"},
	} {
		if found := x.find(c.question); !slices.ContainsFunc(found[:min(3, len(found))], func(e entry) bool { return e.URL == c.first }) {
			t.Errorf("find(%q) = %+v, want %s among the first three", c.question, found[:min(5, len(found))], c.first)
		}
	}
	for _, word := range []string{"pet", "order"} {
		if found := x.find(word); len(found) == 0 || found[0].Kind == "guide" || found[0].Kind == "code" {
			t.Errorf("find(%q) = %+v, want an operation first", word, found[:min(5, len(found))])
		}
	}
	for _, nothing := range []string{"", " \t", "the", "?", "giraffe", "order giraffe"} {
		if found := x.find(nothing); len(found) != 0 {
			t.Errorf("find(%q) = %+v, want nothing", nothing, found)
		}
	}
	if n := len(x.find("e")); n != mostFound {
		t.Errorf("find(%q) has %d results, want the most, %d", "e", n, mostFound)
	}
}

// TestSearchPage: the server answers a question by itself, whatever it is.
func TestSearchPage(t *testing.T) {
	t.Parallel()
	h := newReference(t)
	for question, want := range map[string]string{
		"cancel order":              `href="/docs/orders#cancelOrder"`,
		"":                          "Enter what you are looking for",
		"e":                         "href",
		"giraffe":                   "Nothing was found with all of these words",
		"<script>alert(1)</script>": html.EscapeString("<script>alert(1)</script>"),
		"\xff\x00\u202e":            "Nothing was found with all of these words",
		strings.Repeat("🦎", 9999):   strings.Repeat("🦎", longest/4-1) + "…</bdi>",
	} {
		w := get(t, h, searchPath+"?q="+url.QueryEscape(question))
		body := w.Body.String()
		if w.Code != http.StatusOK || !strings.Contains(body, want) || strings.Contains(body, "<script>alert") || w.Header().Get("Content-Security-Policy") != asset.Policy {
			t.Errorf("the answer to %.40q is %d without %q:\n%s", question, w.Code, want, body)
		}
		if small := get(t, h, searchPath+"?q="+url.QueryEscape(question), "Accept-Encoding", "gzip").Body.Len(); small > 40_000 {
			t.Errorf("the answer to %.40q has %d bytes on its way, want at most 40,000", question, small)
		}
	}
	if body := get(t, h, searchPath).Body.String(); !strings.Contains(body, "Enter what you are looking for") {
		t.Errorf("the page without a question is %s", body)
	}
}

func TestContents(t *testing.T) {
	t.Parallel()
	h := newReference(t)
	for path, want := range map[string][]string{
		"/docs/guides/limits": {`<a href="#backoff">`, `<a href="#sizes">`},
		"/docs/guides/errors": {`<a href="#s404">404 Not Found</a>`, `<a href="#s409">409 Conflict</a>`},
	} {
		body := get(t, h, path).Body.String()
		for _, link := range want {
			if !strings.Contains(body, link) {
				t.Errorf("%s has no %s", path, link)
			}
		}
	}
	if body := get(t, h, "/docs/animals").Body.String(); strings.Contains(body, "On this page") {
		t.Error("a page of operations, whose operations stand in the navigation, lists its headings")
	}
}
