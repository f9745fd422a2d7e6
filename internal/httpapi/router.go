package httpapi

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"example.com/petstore/internal/access"
)

// A route is one operation of the description, or one public page.
type route struct {
	method string
	id     string // the operationId
	scope  access.Scopes
	body   bodyKind
	query  []string // the parameters it knows
	handle handler
	public bool // needs no key and spends no quota
	guess  bool // of a public page: tries a key, and spends the quota of the caller's address
	free   bool // spends no quota
	sunset bool // deprecated, with a last day
}

// A handler carries an operation out and answers it. Its error is answered by
// the pipeline.
type handler func(*exchange) error

// A bodyKind says what content a route takes.
type bodyKind uint8

const (
	noBody bodyKind = iota
	jsonBody
	patchBody // JSON or JSON merge patch
)

// A path has the routes of one pattern. The zero path has none.
type path struct {
	pattern string
	param   string // the name of its id, or ""
	text    bool   // the id is no number
	routes  []route
	allow   string
}

// A router finds the path of a request.
type router struct {
	whole map[string]*path // by pattern
	below map[string]*path // by what stands before the id
	acts  map[act]*path    // those that go on behind the id
	trees []*path          // with all that is below them, those further down first
}

// An act is what stands around the id in a path.
type act struct{ before, last string }

// nowhere is the path of what is not there.
var nowhere = &path{}

func newRouter(paths []path) router {
	t := router{whole: make(map[string]*path), below: make(map[string]*path), acts: make(map[act]*path)}
	for i := range paths {
		p := &paths[i]
		p.allow = allowOf(p.routes)
		before, rest, hasID := strings.Cut(p.pattern, "/{")
		_, last, goesOn := strings.Cut(rest, "}/")
		switch {
		case goesOn:
			t.acts[act{before, last}] = p
		case hasID:
			t.below[before] = p
		case strings.HasSuffix(p.pattern, "/"):
			t.trees = append(t.trees, p)
		default:
			t.whole[p.pattern] = p
		}
	}
	slices.SortFunc(t.trees, func(a, b *path) int { return len(b.pattern) - len(a.pattern) })
	return t
}

// find returns the path that a target is for, and the id in it.
func (t *router) find(u *url.URL) (p *path, id string) {
	if !ours(u) || !clean(u.Path) {
		return nowhere, ""
	}
	before, last := cutLast(u.Path)
	if raw := u.EscapedPath(); u.RawPath != "" && strings.Count(raw, "/") != strings.Count(u.Path, "/") {
		return t.findEscaped(raw)
	}
	if p = t.whole[u.Path]; p != nil {
		return p, ""
	}
	if p = t.below[before]; p != nil && last != "" {
		return p, last
	}
	if root, id := cutLast(before); id != "" {
		if p = t.acts[act{root, last}]; p != nil {
			return p, id
		}
	}
	for _, p := range t.trees {
		if strings.HasPrefix(u.Path, p.pattern) {
			return p, ""
		}
	}
	return nowhere, ""
}

// findEscaped finds a path that has an escaped slash: it does not end a segment,
// and so can be in an id only.
func (t *router) findEscaped(raw string) (p *path, id string) {
	before, last := cutLast(raw)
	if p, id = t.below[segments(before)], unescaped(last); p == nil {
		before, id = cutLast(before)
		p, id = t.acts[act{segments(before), segments(last)}], unescaped(id)
	}
	if p == nil {
		return nowhere, ""
	}
	return p, id
}

// segments returns what escaped segments stand for. Those with an escaped slash
// stay as they are, which no pattern is.
func segments(raw string) string {
	text := unescaped(raw)
	if strings.Count(text, "/") != strings.Count(raw, "/") {
		return raw
	}
	return text
}

func unescaped(raw string) string {
	text, _ := url.PathUnescape(raw) // the parser of URLs has taken it
	return text
}

// cutLast cuts at the last slash.
func cutLast(path string) (before, last string) {
	slash := strings.LastIndexByte(path, '/')
	if slash < 0 {
		return "", ""
	}
	return path[:slash], path[slash+1:]
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

// ours reports whether a target is a path, or a URL that can be of this server
// (RFC 9110 §4.2: one without a host is invalid, and one with a user an error).
func ours(u *url.URL) bool {
	return u.Scheme == "" || (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil
}

// clean reports whether a path is in its one form: none that has empty segments
// or dots is there, nor redirected.
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
