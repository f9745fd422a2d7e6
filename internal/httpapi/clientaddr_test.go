package httpapi

import (
	"net/http"
	"net/netip"
	"testing"
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
