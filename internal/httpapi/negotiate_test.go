package httpapi

import (
	"math/big"
	"net/http"
	"net/url"
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

// FuzzReadID checks that the id in a path is read exactly, or refused.
func FuzzReadID(f *testing.F) {
	for _, seed := range []string{"1", "01", "0", "-1", "+1", "1.0", "9223372036854775807", "9223372036854775808", "", " 1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		id, err := readID("petId", text)
		if n, ok := new(big.Int).SetString(text, 10); err == nil && (!ok || n.String() != text || !n.IsInt64() || n.Int64() != id || id < 1) {
			t.Errorf("readID(%q) = %d, want an error", text, id)
		} else if err != nil && ok && n.String() == text && n.IsInt64() && n.Sign() > 0 {
			t.Errorf("readID(%q) = %v, want %d", text, err, n)
		}
	})
}

// FuzzFindShort checks that a path that is found without the mux is the mux's.
func FuzzFindShort(f *testing.F) {
	t := newRouter([]route{{at: "GET /pets"}, {at: "GET /pets/{id}"}, {at: "GET /keys/{id}/rotate"}, {at: "GET /docs"}, {at: "GET /docs/"}, {at: "GET /docs/all"}})
	for _, seed := range []string{"/pets", "/pets/", "/pets/1", "/pets/1/", "/p%65ts", "/pets/%31", "/pets/1%2F2", "/keys/1/rotate", "/docs", "/docs/", "/docs%2F", "/docs/all", "/docs/a/b", "/", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(tt *testing.T, target string) {
		u, err := url.ParseRequestURI(target)
		if err != nil || !ours(u) || !clean(u.Path) {
			return
		}
		short, long := &exchange{r: &http.Request{URL: u}, path: nowhere}, &exchange{r: &http.Request{URL: u}, path: nowhere}
		if t.mux.ServeHTTP(long, long.r); t.findShort(short) && (short.path != long.path || short.pathID != long.pathID) {
			tt.Errorf("%q leads to %q with %q, want %q with %q", target, short.path.pattern, short.pathID, long.path.pattern, long.pathID)
		}
	})
}
