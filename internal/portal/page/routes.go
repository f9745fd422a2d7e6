package page

import (
	"net/http"

	"example.com/petstore/internal/access"
)

// A Route is a page of a console, or the handler of its form.
type Route struct {
	Method   string
	Path     string        // as http.ServeMux knows it
	Needs    access.Scopes // of the key that is signed in; 0 for everybody. An operator may do everything
	Takes    access.Scopes // what its form needs, of a page that is one
	Free     bool          // it counts against nothing: one can always sign in and out
	Download bool
	Lasts    bool  // its handler takes a share itself, since it runs for long
	MaxBody  int64 // bytes of what is sent; 0 is maxForm
	handle   func(Guest) error
}

// ServeHTTP implements http.Handler, so that a ServeMux can find routes. Serve answers
// the requests.
func (r Route) ServeHTTP(http.ResponseWriter, *http.Request) {}

// A Table is the routes of a console, whose handlers take its guests.
type Table[G Guest] []Route

// Add adds a route, and returns it.
func (t *Table[G]) Add(r Route, h func(G) error) *Route {
	r.handle = func(g Guest) error { return h(g.(G)) }
	*t = append(*t, r)
	return &(*t)[len(*t)-1]
}

// Open adds a page for everybody.
func (t *Table[G]) Open(method, path string, h func(G) error) {
	t.Add(Route{Method: method, Path: path, Free: true}, h)
}

// Look adds a page for those who may read.
func (t *Table[G]) Look(path string, h func(G) error) {
	t.Add(Route{Method: http.MethodGet, Path: path, Needs: access.Read}, h)
}

// Download adds a file of rows.
func (t *Table[G]) Download(path string, h func(G) error) {
	t.Add(Route{Method: http.MethodGet, Path: path, Needs: access.Read, Lasts: true, Download: true}, h)
}

// Form adds a form, which readers may see, and its handler, for users with the scopes. It returns the route of the
// handler.
func (t *Table[G]) Form(needs access.Scopes, path string, form func(G) (Form, error)) *Route {
	t.Add(Route{Method: http.MethodGet, Path: path, Needs: access.Read, Takes: needs}, func(g G) error {
		f, err := form(g)
		if err != nil {
			return err
		}
		return g.visit().Show(http.StatusOK, f)
	})
	return t.Add(Route{Method: http.MethodPost, Path: path, Needs: needs, Takes: needs}, func(g G) error {
		return g.visit().once(func() error {
			f, err := form(g)
			if err != nil {
				return err
			}
			return g.visit().take(f)
		})
	})
}

// List adds the page of a list.
func (t *Table[G]) List(path string, read func(G) (List, error)) {
	t.Look(path, func(g G) error {
		l, err := read(g)
		return g.visit().List(l, err)
	})
}
