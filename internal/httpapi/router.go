package httpapi

import (
	"net/http"
	"net/url"
	"strings"
)

// A router finds the path of a request.
type router struct{ root node }

// A node stands for a sequence of segments that patterns begin with.
type node struct {
	path *path            // the path that ends here, or nil
	tree *path            // the path that includes everything below, or nil
	next map[string]*node // by the next segment
	id   *node            // by any other segment, which is an id; or nil
}

// nowhere is the path of unknown URLs.
var nowhere = &path{}

func newRouter(paths []path) router {
	var t router
	for i := range paths {
		p := &paths[i]
		_, id, _ := strings.Cut(p.pattern, "{")
		p.param, _, _ = strings.Cut(id, "}")
		p.allow = allowOf(p.routes)
		t.root.add(p)
	}
	return t
}

func (n *node) add(p *path) {
	for segment := range strings.SplitSeq(p.pattern[1:], "/") {
		if segment == "" {
			n.tree = p
			return
		}
		n = n.child(segment)
	}
	n.path = p
}

func (n *node) child(segment string) *node {
	if segment[0] == '{' {
		if n.id == nil {
			n.id = &node{}
		}
		return n.id
	}
	if n.next == nil {
		n.next = make(map[string]*node)
	}
	if n.next[segment] == nil {
		n.next[segment] = &node{}
	}
	return n.next[segment]
}

// find returns the path that a URL matches, and the id in it. If there are two ids, it
// joins them with a slash.
func (t *router) find(u *url.URL) (p *path, id string) {
	if !ours(u) || !clean(u.Path) {
		return nowhere, ""
	}
	n, p, target := &t.root, nowhere, u.Path
	if u.RawPath != "" {
		target = u.EscapedPath()
	}
	for segment := range strings.SplitSeq(target[1:], "/") {
		if n.tree != nil {
			p = n.tree
		}
		if u.RawPath != "" { // a slash may be escaped
			segment, _ = url.PathUnescape(segment) // the escapes are valid, since the URL was parsed
		}
		switch next := n.next[segment]; {
		case next != nil:
			n = next
		case n.id != nil && segment != "":
			if id != "" {
				id += "/"
			}
			n, id = n.id, id+segment
		default:
			return p, ""
		}
	}
	if n.path == nil {
		return p, ""
	}
	return n.path, id
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
