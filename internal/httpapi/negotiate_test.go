package httpapi

import (
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// TestContentType: a body is taken as what it says that it is, in UTF-8, however that is spelled, and as nothing else.
func TestContentType(t *testing.T) {
	t.Parallel()
	const json, patch = "application/json", "application/merge-patch+json"
	for text, want := range map[string][2]bool{ // as JSON, and as a patch
		json: {true, true}, "Application/JSON; charset=\"UTF-8\"": {true, true}, json + "\t;a=b": {true, true}, json + ";charset=Utf-8": {true, true},
		json + "; charset*=utf-8''utf-8": {true, true}, patch: {false, true}, patch + "; charset=utf-8": {false, true},
		"": {}, json + ";charset=latin1": {}, json + "; charset=utf-8x": {}, "text/plain, " + json: {}, "application/jsonp": {}, "text/json": {}, json + "+x": {},
	} {
		if got := [2]bool{jsonBody.takes(text), patchBody.takes(text)}; got != want {
			t.Errorf("Content-Type %q is taken as JSON and as a patch: %v, want %v", text, got, want)
		}
	}
}

// FuzzPath checks that a path, however it is spelled, leads where net/http's mux leads, and
// that the id in it is read exactly.
func FuzzPath(f *testing.F) {
	for _, seed := range []string{"/", "/pets/../account", "/pets/{petId}", "/inventory/9223372036854775808", "/store/orders/01", "/store%2Forders/1"} {
		f.Add(seed)
	}
	for _, root := range []string{"/pets", "/p%65ts", "/store/orders", "/webhooks", "/keys", "/inventory"} {
		for _, end := range []string{
			"", "/", "/1", "/1/", "//1", "/-", "/a~b", "/1/2", "x", "x/1", "/%31", "/a%2Fb", "/%2F", "%2F1", "/%20", "/1%2F", "/%2531", "/1/rotate", "/1/movements",
			"/1/deliveries", "/1/deliveries/2", "/1/deliveries/2/retry", "/1/deliveries//retry", "/a%2Fb/deliveries/c%2Fd/retry", "/a%2Fb/rotate", "/1%2Frotate", "/%31/rotat%65",
		} {
			f.Add(root + end)
		}
	}
	paths := wholeSurface()
	found, mux := newRouter(paths), http.NewServeMux()
	type place struct{ pattern, id string }
	var want place
	mux.HandleFunc("/", func(http.ResponseWriter, *http.Request) { want = place{} })
	for _, p := range paths {
		mux.HandleFunc(p.pattern, func(_ http.ResponseWriter, r *http.Request) {
			want = place{p.pattern, r.PathValue(p.param)}
			if inner := r.PathValue("deliveryId"); inner != "" {
				want.id += "/" + inner
			}
		})
	}
	f.Fuzz(func(t *testing.T, asked string) {
		at, err := url.ParseRequestURI(asked)
		if err != nil || !strings.HasPrefix(asked, "/") || !clean(at.Path) {
			return
		}
		p, text := found.find(at)
		mux.ServeHTTP(httptest.NewRecorder(), &http.Request{Method: http.MethodGet, URL: at})
		if got := (place{p.pattern, text}); got != want {
			t.Errorf("%q leads to %q, want %q as for net/http", asked, got, want)
		}
		if p.param == "" {
			return
		}
		id, err := readID(p.param, text)
		if n, ok := new(big.Int).SetString(text, 10); err == nil && (!ok || n.String() != text || !n.IsInt64() || n.Int64() != id || id < 1) {
			t.Errorf("readID(%q) = %d, want an error", text, id)
		} else if err != nil && ok && n.String() == text && n.IsInt64() && n.Sign() > 0 {
			t.Errorf("readID(%q) = %v, want %d", text, err, n)
		}
	})
}
