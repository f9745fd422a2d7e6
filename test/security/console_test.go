package security

import (
	"net/url"
	"strings"
	"testing"
)

// TestConsoleSpendsThePlan orders in the console of a workspace on the free plan until it is refused. What was done there is
// what the plan counted, and the API is refused too.
func TestConsoleSpendsThePlan(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	key := s.workspace("shop", "free")
	s.serve()
	b := s.signedIn(key)
	s.stock(key, "Pet", 1)
	done := 0
	for ; done < 100 && b.send("POST", "/console/orders/new", url.Values{"petId": {"1"}, "quantity": {"1"}}, nil).Status < 400; done++ {
	}
	if done != 56 {
		t.Errorf("the console did %d orders, want the 56 that the free plan had left", done)
	}
	a := b.send("GET", "/console/orders.csv", nil, nil).must(429)
	if !strings.Contains(a.Body, "The requests of this minute are used up") || a.Header.Get("Retry-After") == "" || a.Header.Get("X-RateLimit-Limit") != "60" {
		t.Errorf("a download is refused with %v:\n%s", a.Header, a.Body)
	}
	s.do(request{method: "GET", path: "/pets", key: key}).want(429, "rate_limit_exceeded")
	b.send("GET", "/console", nil, nil).must(200)
}

// TestLogIsPlain: what stands in a path does nothing to the terminal that shows the log, as JSON or as text.
func TestLogIsPlain(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]string{"json": `"path":"/pets/\u009b31m\u202egnp\u2066"`, "text": `\u009b31m\u202egnp\u2066`} {
		s := newSite(t)
		s.serve("--log-format=" + format)
		s.do(request{method: "GET", path: "/pets/%C2%9B31m%E2%80%AEgnp%E2%81%A6"}).must(401)
		if err := s.Stop(); err != nil {
			t.Fatal(err)
		}
		log := ""
		for name, text := range s.files() {
			if strings.HasSuffix(name, ".log") {
				log += text
			}
		}
		if !strings.Contains(log, want) || strings.ContainsAny(log, "\u009b\u202e\u2066") {
			t.Errorf("the log in %s has no %s, or what it stands for:\n%s", format, want, log)
		}
	}
}
