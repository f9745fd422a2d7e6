package httpapi

import (
	"errors"
	"math/big"
	"mime"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
)

// FuzzContentType checks that a body is taken as what it says that it is, in UTF-8, however that is spelled, and as
// nothing else.
func FuzzContentType(f *testing.F) {
	for _, seed := range []string{
		"", "application/json", "Application/JSON; charset=\"UTF-8\"", "application/json;charset=latin1", "application/merge-patch+json", "application/json;",
		"application/json; charset=utf-8; charset=utf-8", "text/plain, application/json", "application/json; charset*=utf-8''utf-8", "application/json\t;a=b",
	} {
		f.Add(seed, true)
	}
	f.Fuzz(func(t *testing.T, text string, patch bool) {
		kind := map[bool]bodyKind{true: patchBody, false: jsonBody}[patch]
		got := kind.takes(text)
		if upper := kind.takes(strings.ToUpper(text)); got != upper && !strings.Contains(text, "*") && asciiOnly(text) {
			t.Errorf("Content-Type %q is taken: %t, and in upper case: %t", text, got, upper)
		}
		if !got {
			return
		}
		low := strings.ToLower(strings.Trim(text, " \t\r\n"))
		if !strings.HasPrefix(low, "application/json") && !(patch && strings.HasPrefix(low, "application/merge-patch+json")) {
			t.Errorf("Content-Type %q is taken", text)
		}
		media, params, err := mime.ParseMediaType(text)
		if again := mime.FormatMediaType(media, params); err != nil || !kind.takes(again) {
			t.Errorf("Content-Type %q is taken, and not as %q, %v", text, again, err)
		}
		if params["charset"] == "" {
			params = map[string]string{"charset": "latin1"}
		} else {
			params["charset"] += "x"
		}
		if other := mime.FormatMediaType(media, params); kind.takes(other) {
			t.Errorf("Content-Type %q is taken", other)
		}
	})
}

func asciiOnly(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r > '~' })
}

// FuzzCredentials checks that a request has the one key that all its headers name, whatever their order, or none.
func FuzzCredentials(f *testing.F) {
	for _, seed := range [][4]string{
		{"", "", "", ""}, {"Bearer a", "", "", ""}, {"bearer  a ", "", "a", ""}, {"Basic a", "", "a", ""}, {"Bearer", "", "a", "b"}, {"", "", "a", "\x00"}, {"Bearer a", "Bearer b", "", ""},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3])
	}
	f.Fuzz(func(t *testing.T, bearer, bearer2, plain, plain2 string) {
		h := http.Header{"Authorization": {bearer, bearer2}, "X-Api-Key": {plain, plain2}}
		for name, values := range h {
			if h[name] = slices.DeleteFunc(values, func(s string) bool { return s == "" }); len(h[name]) == 0 {
				delete(h, name)
			}
		}
		keys := slices.Clone(h["X-Api-Key"])
		want := errMissingKey
		for _, value := range h["Authorization"] {
			scheme, key, _ := strings.Cut(value, " ")
			if keys = append(keys, strings.TrimSpace(key)); !strings.EqualFold(scheme, "bearer") {
				want = errNotBearer
			}
		}
		slices.Sort(keys)
		keys = slices.DeleteFunc(slices.Compact(keys), func(s string) bool { return s == "" })
		switch {
		case want != errNotBearer && len(keys) == 1:
			want = nil
		case want != errNotBearer && len(keys) > 1:
			want = errManyKeys
		}
		got, err := presentedKey(h)
		e, _ := errors.AsType[*petstore.Error](err)
		if want == nil && (err != nil || got != keys[0]) {
			t.Errorf("presentedKey(%q) = %q, %v, want %q", h, got, err, keys[0])
		} else if want != nil && (e == nil || e.Code != want.Code && want != errNotBearer || e.Code != codeMissingKey && e.Code != access.CodeInvalidKey) {
			t.Errorf("presentedKey(%q) = %q, %v, want %v", h, got, err, want)
		}
		slices.Reverse(h["Authorization"])
		slices.Reverse(h["X-Api-Key"])
		if other, err2 := presentedKey(h); other != got || (err2 == nil) != (err == nil) {
			t.Errorf("presentedKey(%q) = %q, %v, and in the other order %q, %v", h, other, err2, got, err)
		}
	})
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
