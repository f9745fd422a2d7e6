package httpapi

import (
	"net/http"
	"net/netip"
	"testing"
)

// TestClientAddr: only a trusted proxy says who the client is.
func TestClientAddr(t *testing.T) {
	t.Parallel()
	proxies := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	for _, test := range []struct {
		trusted             []netip.Prefix
		header, value, want string
	}{
		{nil, "X-Forwarded-For", "192.0.2.1", "127.0.0.1"},
		{proxies, "X-Forwarded-For", "192.0.2.1", "192.0.2.1"},
		{proxies, "X-Forwarded-For", "198.51.100.7, 192.0.2.1", "192.0.2.1"},
		{proxies, "X-Forwarded-For", "192.0.2.1, 127.0.0.9", "192.0.2.1"},
		{proxies, "Forwarded", `For="192.0.2.2:4711";proto=https`, "192.0.2.2"},
		{proxies, "Forwarded", `for="[2001:db8::2]:80"`, "2001:db8::2"},
		{proxies, "Forwarded", "for=_hidden", "127.0.0.1"},
		{proxies, "Forwarded", "for=unknown", "127.0.0.1"},
	} {
		r := &http.Request{RemoteAddr: "127.0.0.1:4711", Header: http.Header{test.header: {test.value}}}
		if got := clientAddr(r, test.trusted); got.String() != test.want {
			t.Errorf("clientAddr(%s: %s) = %v of the proxies %v, want %s", test.header, test.value, got, test.trusted, test.want)
		}
	}
}

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
