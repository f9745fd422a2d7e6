package httpapi

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestRouterFindsWhatTheMuxFinds asks both for every path that there is, and for
// some beside it.
func TestRouterFindsWhatTheMuxFinds(t *testing.T) {
	t.Parallel()
	paths := wholeSurface()
	all := newRouter(paths)
	mux := http.NewServeMux()
	type found struct{ pattern, id string }
	var got found
	mux.HandleFunc("/", func(http.ResponseWriter, *http.Request) { got = found{} })
	for _, p := range paths {
		mux.HandleFunc(p.pattern, func(_ http.ResponseWriter, r *http.Request) {
			got = found{p.pattern, r.PathValue(p.param)}
			if inner := r.PathValue("deliveryId"); inner != "" {
				got.id += "/" + inner
			}
		})
	}
	count := 0
	for _, p := range paths {
		root, _, _ := strings.Cut(p.pattern, "/{")
		root = strings.TrimSuffix(root, "/")
		for _, end := range []string{
			"", "/", "/1", "/1/", "/-", "/a~b", "/1/2", "/pets", "x", "x/1", "/%31", "/a%2Fb", "/%2F", "%2F1", "/%20", "/1%2F", "/%2531", "/1/rotate", "/1/deliveries", "/1/deliveries/2", "/1/deliveries/2/retry", "/1/deliveries//retry", "/a%2Fb/deliveries/c%2Fd/retry", "/a%2Fb/rotate", "/1%2Frotate", "/%31/rotat%65",
		} {
			for _, asked := range []string{root + end, strings.Replace(root, "s", "%73", 1) + end, strings.Replace(root, "e/o", "e%2Fo", 1) + end} {
				r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, asked, nil)
				if !clean(r.URL.Path) {
					continue
				}
				p, id := all.find(r.URL)
				if p != nowhere {
					count++
				}
				mux.ServeHTTP(httptest.NewRecorder(), r)
				if want := (found{p.pattern, id}); got != want {
					t.Errorf("find(%q) = %v, the mux says %v", asked, want, got)
				}
			}
		}
	}
	if count < 150 {
		t.Errorf("find knows %d of the paths, want most", count)
	}
}
