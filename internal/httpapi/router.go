package httpapi

import (
	"net/http"
	"net/url"
	"strings"
)

// A router finds the path of a request.
type router struct {
	mux   *http.ServeMux
	short map[string]*path // by its pattern up to the id, of patterns with none but at the end
}

// nowhere is the path of unknown URLs.
var nowhere = &path{}

func newRouter(paths []path) router {
	t := router{http.NewServeMux(), make(map[string]*path)}
	t.mux.HandleFunc("/", func(http.ResponseWriter, *http.Request) {}) // of what nobody else has
	for i := range paths {
		p := &paths[i]
		before, id, _ := strings.Cut(p.pattern, "{")
		var after string
		if p.param, after, _ = strings.Cut(id, "}"); after == "" {
			t.short[before] = p
		}
		p.allow = allowOf(p.routes)
		t.mux.HandleFunc(p.pattern, func(w http.ResponseWriter, r *http.Request) {
			x := w.(*exchange) //nolint:forcetypeassert // find calls it
			if x.path = p; p.param != "" {
				x.pathID = r.PathValue(p.param)
			}
		})
	}
	return t
}

// find sets the path that the request's URL matches, and the first id in it.
func (t router) find(x *exchange) {
	if u := x.r.URL; ours(u) && clean(u.Path) && !t.findShort(x) { // others would be redirected
		t.mux.ServeHTTP(x, x.r)
	}
	x.route = x.path.route(x.r.Method)
}

// findShort does what mux does, for the paths of nearly all requests and much faster. It reports
// false if it does not know the path.
func (t router) findShort(x *exchange) bool {
	u := x.r.URL
	end := strings.LastIndexByte(u.Path, '/') + 1
	whole, before := t.short[u.Path], t.short[u.Path[:end]]
	switch {
	case u.RawPath != "": // there are escapes
		return false
	case whole != nil && whole.param == "":
		x.path = whole
	case before != nil && before.param != "" && end < len(u.Path):
		x.path, x.pathID = before, u.Path[end:]
	default:
		return false
	}
	return true
}

// allowOf returns the value of Allow: HEAD goes wherever GET does, and OPTIONS
// everywhere.
func allowOf(routes []route) string {
	var methods []string
	for _, r := range routes {
		methods = append(methods, r.method)
		if r.method == "GET" {
			methods = append(methods, "HEAD")
		}
	}
	return strings.Join(append(methods, "OPTIONS"), ", ")
}

// route returns the path's route for a method, or nil.
func (p *path) route(method string) *route {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	for i := range p.routes {
		if p.routes[i].method == method {
			return &p.routes[i]
		}
	}
	return nil
}

// ours reports whether a target is a path, or an absolute URL that is valid (RFC 9110
// §4.2: it must have a host and no user).
func ours(u *url.URL) bool {
	return u.Scheme == "" || (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil
}

// clean reports whether a path has no empty segments and no dot segments. Other paths
// are not found; they are not redirected either.
func clean(p string) bool {
	if p == "" || p[0] != '/' || strings.Contains(p, "//") {
		return false
	}
	for segment := range strings.SplitSeq(p[1:], "/") {
		if segment == "." || segment == ".." {
			return false
		}
	}
	return true
}
