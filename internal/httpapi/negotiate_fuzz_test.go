package httpapi

import (
	"errors"
	"math/big"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
)

// A preference is one element of Accept or Accept-Encoding.
type preference struct {
	name   string
	wanted bool
}

// preferences reads elements by the grammar of RFC 9110 §12.4.2 alone, word for word. It reports false for what is not in
// it, and for what has quoted strings, in which a comma would be none.
func preferences(values []string) (all []preference, ok bool) {
	element := regexp.MustCompile(`^([!#$%&'*+.^_|~0-9A-Za-z/-]+)((?:[ \t]*;[ \t]*[a-pr-z][a-z0-9]*=[!#$%&'*+.^_|~0-9A-Za-z-]+)*)(?:[ \t]*;[ \t]*[qQ]=(0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?))?$`)
	for part := range strings.SplitSeq(strings.Join(values, ","), ",") {
		if part = strings.Trim(part, " \t"); part == "" {
			continue // RFC 9110 §5.6.1.2
		}
		found := element.FindStringSubmatch(part)
		if found == nil {
			return nil, false
		}
		all = append(all, preference{strings.ToLower(found[1]), strings.Trim(found[3], "0.") != "" || found[3] == ""})
	}
	return all, true
}

// mostSpecific returns what the elements say of the first of the names that they have at all, and whether they agree.
func mostSpecific(all []preference, names ...string) (wanted, found, agreed bool) {
	for _, name := range names {
		var of []bool
		for _, p := range all {
			if p.name == name {
				of = append(of, p.wanted)
			}
		}
		if len(of) > 0 {
			return of[0], true, !slices.Contains(of, !of[0])
		}
	}
	return false, false, true
}

// FuzzAccept checks that application/json is sent to those who take it, by a reading of the grammar of its own, and that
// it does not matter how the elements are spread over lines.
func FuzzAccept(f *testing.F) {
	for _, seed := range [][2]string{
		{"", ""}, {"*/*", "application/json;q=0"}, {"text/html, application/*;q=0.5", "*/*;q=0"}, {",", ","}, {"application/JSON ; q=0.000", ""},
		{"application/json;version=1;q=1.0", "text/*"}, {"application/json;q=0.0001", ""}, {"Application/Json;Q=0", "*/*"}, {"application/json; q=", ""},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, first, second string) {
		err := checkAccept([]string{first, second})
		if together := checkAccept([]string{first + "," + second}); (err == nil) != (together == nil) {
			t.Errorf("Accept %q and %q: %v, and in one line: %v", first, second, err, together)
		}
		if more := checkAccept([]string{"", first, " ,", second, "\t"}); (err == nil) != (more == nil) {
			t.Errorf("Accept %q and %q: %v, and with empty elements: %v", first, second, err, more)
		}
		if status, _ := StatusOf(err); err != nil && status != http.StatusNotAcceptable {
			t.Errorf("Accept %q and %q: %v, want 406", first, second, err)
		}
		all, ok := preferences([]string{first, second})
		wanted, found, agreed := mostSpecific(all, "application/json", "application/*", "*/*")
		if want := wanted || !found && len(all) == 0; ok && agreed && (err == nil) != want {
			t.Errorf("Accept %q and %q: %v, want that it is acceptable to be %t", first, second, err, want)
		}
	})
}

// FuzzAcceptEncoding is FuzzAccept for gzip, which nobody gets who did not ask for it.
func FuzzAcceptEncoding(f *testing.F) {
	for _, seed := range []string{"", "gzip", "gzip;q=0, *", "*;q=0.5", "identity, x-gzip;q=0.001", "GZIP ;Q=1.000", "deflate,,gzip;q=0.000", "gzip;q"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := takesGzip([]string{text})
		if low := strings.ToLower(text); got && !strings.Contains(low, "gzip") && !strings.Contains(low, "*") {
			t.Errorf("Accept-Encoding %q takes gzip", text)
		}
		all, ok := preferences([]string{text})
		if _, x, _ := mostSpecific(all, "x-gzip"); x {
			return // RFC 9110 §8.4.1.3: another name for it; which of the two counts is nowhere said
		}
		if want, _, agreed := mostSpecific(all, "gzip", "*"); ok && agreed && got != want {
			t.Errorf("Accept-Encoding %q takes gzip: %t, want %t", text, got, want)
		}
	})
}

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
	paths := surface()
	found, table := newTable(paths), http.NewServeMux()
	for i := range paths {
		table.HandleFunc(paths[i].pattern, func(http.ResponseWriter, *http.Request) {})
	}
	f.Fuzz(func(t *testing.T, asked string) {
		if !clean(asked) {
			return
		}
		p, text := found.find(asked)
		r := &http.Request{Method: http.MethodGet, URL: &url.URL{Path: asked}}
		if _, pattern := table.Handler(r); p != nil && pattern != p.pattern {
			t.Errorf("%q leads to %q, want %q as for net/http", asked, p.pattern, pattern)
		}
		if p == nil || p.param == "" {
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
