package httpapi

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestTableFindsWhatTheMuxFinds asks both for every path that there is, and for
// some beside it.
func TestTableFindsWhatTheMuxFinds(t *testing.T) {
	t.Parallel()
	all := newTable(surface())
	mux := http.NewServeMux()
	type found struct{ pattern, id string }
	var got found
	mux.HandleFunc("/", func(http.ResponseWriter, *http.Request) { got = found{} })
	for _, p := range surface() {
		mux.HandleFunc(p.pattern, func(_ http.ResponseWriter, r *http.Request) { got = found{p.pattern, r.PathValue(p.param)} })
	}
	count := 0
	for _, p := range surface() {
		if !forOperations(p.pattern) {
			continue
		}
		root, _, _ := strings.Cut(p.pattern, "/{")
		for _, end := range []string{"", "/", "/1", "/1/", "/-", "/a~b", "/1/2", "/pets", "x", "x/1"} {
			asked := root + end
			want := found{}
			if p, id := all.find(asked); p != nil {
				want, count = found{p.pattern, id}, count+1
			}
			mux.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, asked, nil))
			if got != want {
				t.Errorf("find(%q) = %v, the mux says %v", asked, want, got)
			}
		}
	}
	if count < 40 {
		t.Errorf("find knows %d of the paths, want most", count)
	}
}
