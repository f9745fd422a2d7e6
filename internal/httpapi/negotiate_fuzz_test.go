package httpapi

import (
	"errors"
	"math/big"
	"mime"
	"net/http"
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

// FuzzPath checks that a path leads where net/http's mux leads, and that the id in it is read exactly.
func FuzzPath(f *testing.F) {
	for _, seed := range []string{"/pets", "/pets/", "/pets/1", "/pets//1", "/pets/../account", "/store/orders/01", "/inventory/9223372036854775808", "/categories/1/x", "/pets/{petId}", "*", "/"} {
		f.Add(seed)
	}
	paths := wholeSurface()
	found, table := newRouter(paths), http.NewServeMux()
	for i := range paths {
		table.HandleFunc(paths[i].pattern, func(http.ResponseWriter, *http.Request) {})
	}
	f.Fuzz(func(t *testing.T, asked string) {
		if !clean(asked) {
			return
		}
		r := &http.Request{Method: http.MethodGet, URL: &url.URL{Path: asked}}
		p, text := found.find(r.URL)
		if _, pattern := table.Handler(r); pattern != p.pattern {
			t.Errorf("%q leads to %q, want %q as for net/http", asked, p.pattern, pattern)
		}
		if p.param == "" {
			return
		}
		id, err := readID(p.param, text)
		if want, ok := new(big.Int).SetString(text, 10); err == nil && (!ok || want.String() != text || !want.IsInt64() || want.Int64() != id || id < 1) {
			t.Errorf("readID(%q) = %d, want an error", text, id)
		} else if err != nil && ok && want.String() == text && want.IsInt64() && want.Sign() > 0 {
			t.Errorf("readID(%q) = %v, want %d", text, err, want)
		}
	})
}
