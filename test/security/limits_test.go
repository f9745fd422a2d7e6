package security

import (
	"net"
	"net/http"
	"strings"
	"testing"
)

// http2Transport returns a transport that speaks HTTP/2 without TLS.
func http2Transport() *http.Transport {
	var p http.Protocols
	p.SetUnencryptedHTTP2(true)
	return &http.Transport{Protocols: &p}
}

// TestOperationsListener holds that the outside sees nothing of it.
func TestOperationsListener(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	key := s.workspace("shop")
	out := petstore.Must(t, s.dir, "config", "print", "-o=json")
	if !strings.Contains(out, "127.0.0.1:9090") || !strings.Contains(out, "127.0.0.1:8080") {
		t.Errorf("the default addresses are not those of the loopback:\n%s", out)
	}
	s.serve("--addr=0.0.0.0:0")
	for _, path := range []string{"/metrics", "/livez", "/readyz", "/debug/pprof/", "/debug/pprof/cmdline", "/debug/vars", "/admin", "/.env", "/.git/config"} {
		s.do(request{method: "GET", path: path, key: key}).want(404, "route_not_found")
	}
	_, port, err := net.SplitHostPort(strings.TrimPrefix(s.Ops, "http://"))
	must(t, err)
	outside := outsideAddr(t)
	if c, err := net.Dial("tcp", net.JoinHostPort(outside, port)); err == nil {
		c.Close()
		t.Errorf("the operations listener answers on %s", outside)
	}
}

// outsideAddr returns an address of this machine that is not its loopback.
func outsideAddr(t *testing.T) string {
	t.Helper()
	addrs, err := net.InterfaceAddrs()
	must(t, err)
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() {
			return n.IP.String()
		}
	}
	t.Skip("this machine has no address but its loopback")
	return ""
}
