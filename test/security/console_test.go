package security

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/petstore/test/servertest"
)

// TestConsoleSpendsThePlan sends orders and keys through the console of a workspace on the free plan for five seconds, as
// fast as eight browsers can. What is done is what the plan counts.
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
				if n%2 == 0 {
					a = b.send("POST", "/console/orders/new", url.Values{"petId": {"1"}, "quantity": {"1"}}, nil)
				} else {
					what, a = "keys", b.send("POST", "/console/keys/new", url.Values{"name": {fmt.Sprint("key ", n)}, "scope": {"read"}, "expires": {"0"}}, nil)
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
	if got := done["orders"] + done["keys"]; got != 57 {
		t.Errorf("the console did %v: %d things, want the 57 that the free plan had left", done, got)
	}
	if done["refused"] < 100 || refusal.status != http.StatusTooManyRequests || !strings.Contains(refusal.body, "The requests of this minute are used up") ||
		refusal.header.Get("Retry-After") == "" || refusal.header.Get("X-RateLimit-Limit") != "60" || refusal.header.Get("X-RateLimit-Remaining") != "0" {
		t.Errorf("%d were refused, the last with %d %v:\n%s", done["refused"], refusal.status, refusal.header, refusal.body)
	}
	s.do(request{method: "GET", path: "/pets", key: key}).want(429, "rate_limit_exceeded")
	s.do(request{method: "GET", path: "/pets", key: rich}).want(200, "")
	b.send("GET", "/console", nil, nil).must(200)
}

// TestConsolePagesAreBounded reads pages and downloads as fast as it can: there are sixty a minute, for all sessions together.
func TestConsolePagesAreBounded(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	key, other := s.workspace("shop"), s.key("shop").Key
	s.serve("--console-pages=60")
	sessions := []visitor{s.signedIn(key), s.signedIn(key), s.signedIn(other)}
	var read, refused int
	for n := range 180 {
		switch a := sessions[n%3].send("GET", []string{"/console/keys", "/console/keys.csv"}[n%2], nil, nil); a.status {
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
	key := s.workspace("shop")
	banned := s.key("shop")
	s.serve()
	b := s.signedIn(banned.Key)
	b.send("GET", "/console/pets.csv", nil, nil).must(200)
	if _, err := petstore.Run(s.dir, "key", "ban", banned.ID, "--for=1h", "--reason=test"); err != nil {
		t.Fatal(err)
	}
	servertest.Eventually(t, "the ban holds", func() bool {
		return s.do(request{method: "GET", path: "/pets", key: banned.Key}).status == http.StatusTooManyRequests
	})
	for _, path := range []string{"/console/pets.csv", "/console/keys.csv", "/console/requests.csv"} {
		if a := b.send("GET", path, nil, nil).must(429); !strings.Contains(a.body, "This key is banned") {
			t.Errorf("%s says %s", a.what, a.body)
		}
	}
	b.send("GET", "/console", nil, nil).must(200)
	a := s.signedIn(key).send("POST", "/console/keys/"+banned.ID+"/rotate", url.Values{"overlap": {"24"}}, nil).must(200)
	next := regexp.MustCompile(`pst_[0-9A-Za-z]{38}`).FindString(a.body)
	s.do(request{method: "GET", path: "/pets", key: next}).want(429, "api_key_banned")
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

// TestSignedOutCookie: a session's cookie that was kept is worthless after signing out, to a server that was started again too.
func TestSignedOutCookie(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	key := s.workspace("shop")
	s.serve()
	one, other, third := s.signedIn(key), s.signedIn(key), s.signedIn(key)
	one.send("POST", "/console/signout", url.Values{}, nil).must(303)
	one.send("GET", "/console", nil, nil).asksToSignIn("who signed out")
	other.send("GET", "/console", nil, nil).must(200)
	other.send("POST", "/console/signout/everywhere", url.Values{}, nil).must(303)
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	s.serve()
	for _, b := range []visitor{one, other, third} {
		b.base = s.URL
		b.send("GET", "/console/pets", nil, nil).asksToSignIn("who signed out everywhere")
		b.send("POST", "/console/stock/1", url.Values{"quantity": {"1"}}, nil).asksToSignIn("who signed out everywhere")
	}
}
