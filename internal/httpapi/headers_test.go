package httpapi

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"example.com/petstore/internal/petstore"
)

// FuzzClientAddr checks that a client behind a trusted proxy is whom the proxy
// names, whatever the client wrote into the same header before it, and that
// the other header makes it nobody but the proxy.
func FuzzClientAddr(f *testing.F) {
	for _, seed := range [][2]string{
		{"", ""}, {"198.51.100.1", "for=198.51.100.2"}, {"[2001:db8::1]:80", `for="[2001:db8::1%eth0]:80"`},
		{"::ffff:192.0.2.1", `for="a,for=198.51.100.2`}, {"unknown,_hidden", "For=;for=203.0.113.9;by"},
	} {
		f.Add(seed[0], seed[1])
	}
	trusted := []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
	proxy, client := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("203.0.113.9")
	from := func(forwarded, xff []string) netip.Addr {
		h := http.Header{}
		if forwarded != nil {
			h["Forwarded"] = forwarded
		}
		if xff != nil {
			h["X-Forwarded-For"] = xff
		}
		return clientAddr(&http.Request{RemoteAddr: "192.0.2.1:1024", Header: h}, trusted)
	}
	f.Fuzz(func(t *testing.T, xff, forwarded string) {
		named, spliced := "for=203.0.113.9;proto=https", ", 203.0.113.9"
		if got := from(nil, []string{xff, client.String()}); got != client {
			t.Errorf("behind X-Forwarded-For %q the client is %v, want %v", xff, got, client)
		}
		if got := from([]string{forwarded + "," + named}, nil); got != client {
			t.Errorf("behind Forwarded %q the client is %v, want %v", forwarded, got, client)
		}
		if got := from([]string{forwarded}, []string{xff + spliced}); got != client && got != proxy {
			t.Errorf("behind X-Forwarded-For %q with Forwarded %q the client is %v, want %v or %v", xff, forwarded, got, client, proxy)
		}
		if got := from([]string{forwarded, named}, []string{xff}); got != client && got != proxy {
			t.Errorf("behind Forwarded %q with X-Forwarded-For %q the client is %v, want %v or %v", forwarded, xff, got, client, proxy)
		}
	})
}

// FuzzTags checks that the tags of If-Match and If-None-Match are those of the
// text, that they can be written again, and that strong ones are weak ones too.
func FuzzTags(f *testing.F) {
	for _, seed := range []string{"", "*", `"a"`, `W/"a", "b"`, `"a",,"b"`, `"a" "b"`, `"`, "w/\"a\"", `"a`, "\"\x00\u00e9\","} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		weak, err := parseTags("If-None-Match", []string{text}, true)
		strong, err2 := parseTags("If-Match", []string{text}, false)
		if (err == nil) != (err2 == nil) {
			t.Fatalf("%q is good for one header only: %v, %v", text, err, err2)
		}
		if err != nil {
			if status, code := StatusOf(err); status != http.StatusBadRequest || code != codeInvalidParameter {
				t.Errorf("%q = %d %s, want 400 %s", text, status, code, codeInvalidParameter)
			}
			return
		}
		if weak.Any != (strings.TrimSpace(text) == "*") || weak.Any != strong.Any {
			t.Errorf("%q is any tag: %t and %t", text, weak.Any, strong.Any)
		}
		for _, tag := range strong.Tags {
			if !weak.Has(tag) {
				t.Errorf("%q has the strong tag %q, and not the weak one", text, tag)
			}
		}
		wantTags(t, text, weak)
	})
}

// wantTags checks that the tags are in the text, and read back as they are.
func wantTags(t *testing.T, text string, set *petstore.TagSet) {
	t.Helper()
	var again []string
	for _, tag := range set.Tags {
		quoted := `"` + string(tag) + `"`
		if !strings.Contains(text, quoted) || strings.Count(quoted, `"`) != 2 {
			t.Errorf("%q has no tag %s", text, quoted)
		}
		again = append(again, quoted)
	}
	if got, err := parseTags("If-Match", again, false); again != nil && (err != nil || !slices.Equal(got.Tags, set.Tags)) {
		t.Errorf("the tags %q read back as %v, %v", set.Tags, got, err)
	}
}
