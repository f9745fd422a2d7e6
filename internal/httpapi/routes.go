package httpapi

import (
	"net/http"
	"net/url"
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
	handle func(*API, *exchange) error
	public bool // needs no key and spends no quota
	guess  bool // of a public page: tries a key, and spends the quota of the caller's address
	free   bool // spends no quota
	sunset bool // deprecated, with a last day
}

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
	routes  []route
	allow   string
}

// surface returns the whole interface.
func surface() []path {
	const read, write = access.Read, access.Write
	consolePages := []route{{method: "GET", handle: console, public: true}, {method: "POST", handle: console, public: true}}
	paths := []path{
		{pattern: "/pets", routes: []route{
			{method: "GET", id: "listPets", scope: read, handle: listPets, query: []string{"limit", "cursor", "id", "status", "categoryId", "name"}},
			{method: "POST", id: "createPet", scope: write, handle: createPet, body: jsonBody},
		}},
		{pattern: "/pets/{petId}", param: "petId", routes: []route{
			{method: "GET", id: "getPet", scope: read, handle: getPet, sunset: true},
			{method: "PUT", id: "replacePet", scope: write, handle: replacePet, body: jsonBody},
			{method: "PATCH", id: "updatePet", scope: write, handle: updatePet, body: patchBody},
			{method: "DELETE", id: "deletePet", scope: write, handle: deletePet},
		}},
		{pattern: "/categories", routes: []route{
			{method: "GET", id: "listCategories", scope: read, handle: listCategories, query: []string{"limit", "cursor", "name"}},
			{method: "POST", id: "createCategory", scope: write, handle: createCategory, body: jsonBody},
		}},
		{pattern: "/categories/{categoryId}", param: "categoryId", routes: []route{
			{method: "GET", id: "getCategory", scope: read, handle: getCategory},
			{method: "PUT", id: "replaceCategory", scope: write, handle: replaceCategory, body: jsonBody},
			{method: "PATCH", id: "updateCategory", scope: write, handle: updateCategory, body: patchBody},
			{method: "DELETE", id: "deleteCategory", scope: write, handle: deleteCategory},
		}},
		{pattern: "/store/orders", routes: []route{
			{method: "GET", id: "listOrders", scope: read, handle: listOrders, query: []string{"limit", "cursor", "petId", "complete", "shipDateFrom", "shipDateTo"}},
			{method: "POST", id: "createOrder", scope: write, handle: createOrder, body: jsonBody},
		}},
		{pattern: "/store/orders/{orderId}", param: "orderId", routes: []route{
			{method: "GET", id: "getOrder", scope: read, handle: getOrder},
			{method: "PATCH", id: "updateOrder", scope: write, handle: updateOrder, body: patchBody},
			{method: "DELETE", id: "cancelOrder", scope: write, handle: cancelOrder},
		}},
		{pattern: "/inventory", routes: []route{
			{method: "GET", id: "listInventory", scope: read, handle: listInventory, query: []string{"limit", "cursor", "status", "maxQuantity"}},
		}},
		{pattern: "/inventory/{petId}", param: "petId", routes: []route{
			{method: "GET", id: "getInventoryItem", scope: read, handle: getInventoryItem},
			{method: "PATCH", id: "updateInventory", scope: write, handle: updateInventory, body: patchBody},
		}},
		{pattern: "/account", routes: []route{
			{method: "GET", id: "getAccount", scope: read, handle: getAccount, free: true},
		}},
		{pattern: "/openapi.json", routes: []route{{method: "GET", handle: getDescription, public: true}}},
		{pattern: "/openapi.yaml", routes: []route{{method: "GET", handle: getDescription, public: true}}},
		{pattern: "/docs", routes: []route{{method: "GET", handle: getDocs, public: true}}},
		{pattern: "/docs/", routes: []route{{method: "GET", handle: getDocs, public: true}}},
		{pattern: "/console", routes: consolePages},
		{pattern: "/console/", routes: consolePages},
		{pattern: "/console/signin", routes: []route{
			{method: "GET", handle: console, public: true},
			{method: "POST", handle: console, public: true, guess: true},
		}},
	}
	for i := range paths {
		paths[i].allow = allowOf(paths[i].routes)
	}
	return paths
}

// A table finds the paths of plain requests as the mux does, but for what it
// has to do for all others: escapes, redirects, hosts.
type table struct {
	whole map[string]*path // by pattern
	below map[string]*path // by what stands before the id
}

// find returns the path that a request is for, and the id in it, or nil if the
// mux has to say.
func (t *table) find(asked string) (p *path, id string) {
	if p = t.whole[asked]; p != nil {
		return p, ""
	}
	slash := strings.LastIndexByte(asked, '/')
	if slash < 0 || slash == len(asked)-1 {
		return nil, ""
	}
	return t.below[asked[:slash]], asked[slash+1:]
}

func newTable(paths []path) table {
	t := table{make(map[string]*path), make(map[string]*path)}
	for i := range paths {
		p := &paths[i]
		if before, _, ok := strings.Cut(p.pattern, "/{"); ok {
			t.below[before] = p
		} else {
			t.whole[p.pattern] = p
		}
	}
	return t
}

// newMux returns the mux that finds the path of a request and serves it.
func (a *API) newMux(paths []path) *http.ServeMux {
	mux := http.NewServeMux()
	for i := range paths {
		p := &paths[i]
		mux.HandleFunc(p.pattern, func(w http.ResponseWriter, r *http.Request) {
			x := w.(*exchange)
			x.pathID = r.PathValue(p.param)
			a.serve(x, p)
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { a.serve(w.(*exchange), &path{}) })
	return mux
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

// clean reports whether the mux would take p as it is: the mux answers other
// paths with a redirect to their clean form, which here is simply not there.
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
