package httpapi

import (
	"net/http"

	"example.com/petstore/api"
	"example.com/petstore/internal/petstore"
)

// pages are what is not JSON of an operation: the description, and the pages for
// people, which others serve.
type pages struct {
	baseURL string
	docs    http.Handler
	console func(w http.ResponseWriter, r *http.Request, p *Page) // nil if there is none
	guard   guard
	room    chan struct{} // for those who read the docs and the description
}

func (p pages) paths() []path {
	p.room = make(chan struct{}, maxReaders)
	docs := []route{{method: "GET", handle: p.bounded(p.serveDocs), public: true}}
	console := []route{{method: "GET", handle: p.serveConsole, public: true}, {method: "POST", handle: p.serveConsole, public: true}}
	return []path{
		{pattern: "/openapi.json", routes: []route{{method: "GET", handle: p.bounded(document("application/json", api.JSONAt(p.baseURL))), public: true}}},
		{pattern: "/openapi.yaml", routes: []route{{method: "GET", handle: p.bounded(document("application/yaml", api.YAMLAt(p.baseURL))), public: true}}},
		{pattern: "/docs", routes: docs},
		{pattern: "/docs/", routes: docs},
		{pattern: "/llms.txt", routes: docs},
		{pattern: "/console", routes: console},
		{pattern: "/console/", routes: console},
		{pattern: "/console/signin", routes: []route{
			{method: "GET", handle: p.serveConsole, public: true},
			{method: "POST", handle: p.serveConsole, public: true, guess: true},
		}},
	}
}

// maxReaders is how many answers of the docs and the description may be written
// at once. Clients without a key may take them as slowly as writeTimeout allows.
const maxReaders = 256

// bounded refuses while too many are at it.
func (p pages) bounded(handle handler) handler {
	return func(x *exchange) error {
		select {
		case p.room <- struct{}{}:
			defer func() { <-p.room }()
			return handle(x)
		default:
			return errOverloaded
		}
	}
}

// document answers with a file that everybody may read.
func document(contentType string, body []byte) handler {
	tag, zipped := petstore.TagOf(body), zip(body)
	return func(x *exchange) error {
		return x.sendTagged("W/", tag, contentType, body, func() []byte { return zipped })
	}
}

func (p pages) serveDocs(x *exchange) error {
	x.lent = true
	p.docs.ServeHTTP(x, x.r)
	return nil
}

func (p pages) serveConsole(x *exchange) error {
	if p.console == nil {
		return errNotFound
	}
	x.lent = true
	p.console(x, x.r.WithContext(petstore.OfRequest(x.r.Context(), x.id)), &Page{x, p.guard})
	return nil
}

var errNotFound = petstore.Errorf(codeRouteNotFound, "There is nothing at this path.")

// NotFound answers like a path that is not there. It is for the handler that
// Options.Docs is, on paths that it does not have.
func NotFound(w http.ResponseWriter, r *http.Request) {
	x, ok := w.(*exchange)
	if !ok {
		x = &exchange{w: w, r: r}
	}
	x.fail(errNotFound)
}
