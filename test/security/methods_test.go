package security

import (
	"slices"
	"strings"
	"testing"
)

// TestUnlistedMethods sends every path each method that the description does
// not list, and tries to disguise one method as another.
func TestUnlistedMethods(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	key := s.workspace("shop")
	s.serve()
	s.stock(key, "Pet", 1)
	before := s.everything(key)
	listed := map[string][]string{}
	for _, o := range operations(t) {
		listed[o.at(1)] = append(listed[o.at(1)], o.method)
	}
	for path, methods := range listed {
		if slices.Contains(methods, "GET") {
			methods = append(methods, "HEAD")
		}
		methods = append(methods, "OPTIONS")
		slices.Sort(methods)
		for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE", "TRACE", "PROPFIND", "MKCOL", "MOVE", "LOCK", "PURGE", "TRACK", "DEBUG", "QUERY", "get", "Post", "X"} {
			if slices.Contains(methods, method) {
				continue
			}
			a := s.do(request{method: method, path: path, key: key}).want(405, "method_not_allowed")
			allow := strings.Split(a.Header.Get("Allow"), ", ")
			slices.Sort(allow)
			if !slices.Equal(allow, methods) {
				t.Errorf("%s: Allow = %v, want %v", a.what, allow, methods)
			}
		}
	}
	for _, name := range []string{"X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"} {
		s.do(request{method: "GET", path: "/inventory/1", key: key, header: map[string]string{name: "DELETE"}}).want(200, "")
	}
	s.do(request{method: "POST", path: "/pets?_method=DELETE", key: key, body: `{"name":"x","categoryId":1}`}).want(400, "invalid_parameter")
	if after := s.everything(key); after != before {
		t.Errorf("something changed:\n%s\nbefore:\n%s", after, before)
	}
}
