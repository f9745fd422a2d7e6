package security

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/petstore/test/servertest"
)

// TestConsoleSpendsThePlan sends orders, keys and downloads through the console of a workspace on the free plan for five
// seconds, as fast as eight browsers can. What is done is what the plan counts.
func TestConsoleSpendsThePlan(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	rich := s.workspace("rich")
	key := s.workspace("shop", "free")
	s.serve("--ban-window=1ms") // no ban here
	b := s.signedIn(key)
	s.do(request{method: "POST", path: "/categories", key: key, body: `{"name":"Dogs"}`}).must(201)
	s.do(request{method: "POST", path: "/pets", key: key, body: `{"name":"Rex","categoryId":1}`}).must(201)
	s.do(request{method: "PATCH", path: "/inventory/1", key: key, body: `{"quantity":1000000}`}).must(200)

	var mu sync.Mutex
	done := map[string]int{}
	var refusal answer
	end := time.Now().Add(5 * time.Second)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := i; time.Now().Before(end); n++ {
				what, a := "orders", answer{}
				switch n % 3 {
				case 0:
					a = b.send("POST", "/console/orders/new", url.Values{"petId": {"1"}, "quantity": {"1"}}, nil)
				case 1:
					what, a = "keys", b.send("POST", "/console/keys/new", url.Values{"name": {fmt.Sprint("key ", n)}, "scope": {"read"}, "expires": {"0"}}, nil)
				case 2:
					what, a = "downloads", b.send("GET", "/console/orders.csv", nil, nil)
				}
				mu.Lock()
				if a.status < 400 {
					done[what]++
				} else {
					done["refused"]++
					refusal = a
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if got := done["orders"] + done["keys"] + done["downloads"]; got > 57 || got < 40 { // a download beside too many others counts too
		t.Errorf("the console did %v: %d things, want the 57 that the free plan had left", done, got)
	}
	if done["refused"] < 100 || refusal.status != http.StatusTooManyRequests || !strings.Contains(refusal.body, "The requests of this minute are spent") ||
		refusal.header.Get("Retry-After") == "" || refusal.header.Get("X-RateLimit-Limit") != "60" || refusal.header.Get("X-RateLimit-Remaining") != "0" {
		t.Errorf("%d were refused, the last with %d %v:\n%s", done["refused"], refusal.status, refusal.header, refusal.body)
	}
	s.do(request{method: "GET", path: "/pets", key: key}).want(429, "rate_limit_exceeded")
	s.do(request{method: "GET", path: "/pets", key: rich}).want(200, "")
	b.send("GET", "/console", nil, nil).must(200)
}

// TestConsolePagesAreBounded reads pages as fast as it can: there are sixty a minute, for all sessions together.
func TestConsolePagesAreBounded(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	key, other := s.workspace("shop"), s.key("shop").Key
	s.serve("--console-pages=60")
	sessions := []visitor{s.signedIn(key), s.signedIn(key), s.signedIn(other)}
	var read, refused int
	for n := range 180 {
		switch a := sessions[n%3].send("GET", "/console/keys", nil, nil); a.status {
		case http.StatusOK:
			read++
		case http.StatusTooManyRequests:
			refused++
		}
	}
	if read < 60 || read > 120 || refused < 60 { // the minute of the clock may change once
		t.Errorf("%d pages were read and %d refused, want 60 and 120", read, refused)
	}
}

// TestConsoleDownloadsOfTheBanned: a ban ends downloads and changes at once, and a rotation from another key keeps it.
func TestConsoleDownloadsOfTheBanned(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.workspace("shop")
	banned := s.key("shop")
	s.serve()
	b := s.signedIn(banned.Key)
	b.send("GET", "/console/pets.csv", nil, nil).must(200)
	if _, err := petstore.Run(s.dir, "key", "ban", banned.ID, "--for=1h", "--reason=test"); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(servertest.Patience); s.do(request{method: "GET", path: "/pets", key: banned.Key}).status != http.StatusTooManyRequests; {
		if time.Now().After(deadline) {
			t.Fatal("the ban does not hold")
		}
	}
	for _, path := range []string{"/console/pets.csv", "/console/keys.csv", "/console/requests.csv"} {
		if a := b.send("GET", path, nil, nil).must(429); !strings.Contains(a.body, "This key is banned") {
			t.Errorf("%s says %s", a.what, a.body)
		}
	}
	b.send("GET", "/console", nil, nil).must(200)
}
