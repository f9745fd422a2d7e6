package security

import (
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"example.com/petstore/test/servertest"
)

// TestSpoofedAddresses lets one address claim to be many. It stays one.
func TestSpoofedAddresses(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.workspace("shop")
	s.serve()
	for i := range 60 {
		ip := fmt.Sprintf("203.0.113.%d", i)
		s.do(request{method: "GET", path: "/pets", header: map[string]string{
			"X-Forwarded-For": ip, "Forwarded": "for=" + ip, "X-Real-IP": ip, "True-Client-IP": ip, "CF-Connecting-IP": ip,
			"X-Client-IP": ip, "X-Cluster-Client-IP": ip, "Via": "1.1 " + ip, "User-Agent": ip, "Host": ip,
		}}).want(401, "missing_api_key")
	}
	s.do(request{method: "GET", path: "/pets", header: map[string]string{"X-Forwarded-For": "198.51.100.1"}}).want(429, "rate_limit_exceeded")
	s.do(request{method: "GET", path: "/pets", key: "pst_of_another_name"}).want(429, "rate_limit_exceeded")
}

// TestVariants spends one window in as many spellings as there are.
func TestVariants(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	first := s.workspace("shop", "free")
	second := s.key("shop").Key
	s.serve()
	variants := []request{
		{method: "GET", path: "/pets"}, {method: "GET", path: "/pets/"}, {method: "GET", path: "/PETS"}, {method: "GET", path: "//pets"},
		{method: "GET", path: "/./pets"}, {method: "GET", path: "/x/../pets"}, {method: "GET", path: "/%70ets"}, {method: "GET", path: "/pets?x=1"},
		{method: "GET", path: "/pets;x=1"}, {method: "HEAD", path: "/pets"}, {method: "OPTIONS", path: "/pets"}, {method: "PROPFIND", path: "/pets"},
		{method: "GET", path: "/nothing"}, {method: "POST", path: "/pets", body: "{"}, {method: "GET", path: "/pets%00"}, {method: "GET", path: "/pets%2f1"},
	}
	left := 60
	for i := range 60 {
		r := variants[i%len(variants)]
		if r.key = first; i%2 == 1 {
			r.key = second
		}
		a := s.do(r)
		left--
		if got := a.Header.Get("X-RateLimit-Remaining"); got != strconv.Itoa(left) {
			t.Fatalf("%s = %d with %s requests left, want %d", a.what, a.Status, got, left)
		}
	}
	for _, r := range variants {
		r.key = second
		if a := s.do(r); a.Status != http.StatusTooManyRequests {
			t.Errorf("%s = %d, want 429", a.what, a.Status)
		}
	}
}

// TestParallelism sends many requests at once, as streams of one connection. Exactly
// the quota is admitted.
func TestParallelism(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	key := s.workspace("shop", "free")
	s.serve()
	c := &http.Client{Transport: http2Transport(), Timeout: servertest.Patience}
	t.Cleanup(c.CloseIdleConnections)
	var mu sync.Mutex
	var all sync.WaitGroup
	got := map[int]int{}
	for range 200 {
		all.Go(func() {
			a, err := servertest.Send(t.Context(), c, servertest.Request{Method: "GET", URL: s.URL + "/pets", Key: key})
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
			}
			got[a.Status]++
		})
	}
	all.Wait()
	if got[200] != 60 || got[429] != 140 {
		t.Errorf("200 requests at once = %v, want 60 times 200 and 140 times 429", got)
	}
}

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
	out, err := petstore.Run(s.dir, "config", "print", "-o=json")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out, "127.0.0.1:9090") || !strings.Contains(out, "127.0.0.1:8080") {
		t.Errorf("the default addresses are not those of the loopback:\n%s", out)
	}
	s.serve("--addr=0.0.0.0:0")
	for _, path := range []string{"/metrics", "/livez", "/readyz", "/debug/pprof/", "/debug/pprof/cmdline", "/debug/vars", "/admin", "/.env", "/.git/config"} {
		s.do(request{method: "GET", path: path, key: key}).want(404, "route_not_found")
	}
	_, port, err := net.SplitHostPort(strings.TrimPrefix(s.Ops, "http://"))
	if err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() {
			return n.IP.String()
		}
	}
	t.Skip("this machine has no address but its loopback")
	return ""
}
