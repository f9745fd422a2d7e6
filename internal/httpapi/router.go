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

func newRouter(routes []route) router {
	t := router{http.NewServeMux(), make(map[string]*path)}
	t.mux.HandleFunc("/", func(http.ResponseWriter, *http.Request) {}) // of what nobody else has
	paths := make(map[string]*path)
	for i := range routes {
		method, pattern, _ := strings.Cut(routes[i].at, " ")
		p := paths[pattern]
		if p == nil {
			p = t.add(pattern)
			paths[pattern] = p
		}
		p.routes[method] = &routes[i]
		if method == http.MethodGet {
			method = "GET, HEAD"
		}
		p.allow = strings.TrimSuffix(p.allow, "OPTIONS") + method + ", OPTIONS"
	}
	return t
}

// add returns the path of a pattern, which has no routes yet.
func (t router) add(pattern string) *path {
	before, rest, _ := strings.Cut(pattern, "{")
	id, after, _ := strings.Cut(rest, "}")
	p := &path{pattern: pattern, param: id, text: id == "keyId" || id == "webhookId", routes: make(map[string]*route)}
	if after == "" {
		t.short[before] = p
	}
	t.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		x := w.(*exchange) //nolint:forcetypeassert // find calls it
		if x.path = p; id != "" {
			x.pathID = r.PathValue(id)
		}
	})
	return p
}

// find sets the path that the request's URL matches, and the first id in it.
func (t router) find(x *exchange) {
	if u := x.r.URL; ours(u) && clean(u.Path) && !t.findShort(x) { // others would be redirected
		t.mux.ServeHTTP(x, x.r)
	}
	method := x.r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	x.route = x.path.routes[method]
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
