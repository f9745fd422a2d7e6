package security

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// TestVisitorsGetNoMore: an address gets as many sandboxes as it may, however it asks; a sandbox has no more rows or rights
// than it may have, through the console neither; and what fails on request is its own.
func TestVisitorsGetNoMore(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	shop := s.workspace("shop")
	s.serve("--sandbox-per-address=3", "--sandbox-plan=business")
	var mu sync.Mutex
	var keys []string
	refused := 0
	var all sync.WaitGroup
	for i := range 12 {
		all.Go(func() {
			header := map[string]string{"X-Forwarded-For": fmt.Sprintf("192.0.2.%d", i), "Forwarded": fmt.Sprintf("for=192.0.2.%d", i)}
			a := s.do(request{method: "POST", path: "/sandboxes", header: header})
			var made struct{ Key, Code string }
			_ = json.Unmarshal([]byte(a.Body), &made)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case a.Status == http.StatusCreated:
				keys = append(keys, made.Key)
			case made.Code == "rate_limit_exceeded" && a.Header.Get("Retry-After") != "":
				refused++
			default:
				t.Errorf("%s = %d %s", a.what, a.Status, a.Body)
			}
		})
	}
	all.Wait()
	if len(keys) != 3 || refused != 9 {
		t.Fatalf("an address got %d sandboxes and was refused %d times, want 3 and 9", len(keys), refused)
	}
	key := keys[0]
	s.do(request{method: "POST", path: "/keys", key: key, body: `{"name":"more"}`}).want(403, "insufficient_scope")
	s.do(request{method: "POST", path: "/webhooks", key: key, body: `{"url":"https://example.com/"}`}).want(403, "insufficient_scope")
	for _, value := range []string{"code=internal_error", "connection=refuse-answer", "latency=30s", "nonsense"} {
		s.do(request{method: "GET", path: "/pets", key: shop, header: map[string]string{"Petstore-Simulate": value}}).must(200)
	}

	rows := strings.Repeat("x,many\n", 4958)
	b := s.signedIn(key)
	for _, do := range []string{"try", "import"} {
		a := b.sendBody("POST", "/console/pets/import", importForm(do, "name,category\n"+rows), map[string]string{"Content-Type": importKind})
		if !strings.Contains(a.Body, "A sandbox can have 5000 pets") {
			t.Errorf("to %s a file with 4,958 pets beside 43 is answered %d\n%.2000s", do, a.Status, a.Body)
		}
	}
	if a := s.do(request{method: "GET", path: "/pets?sort=-id&limit=1", key: key}).must(200); !strings.Contains(a.Body, `"id":43,`) {
		t.Errorf("the newest pet is %s, want 43", a.Body)
	}
}

// importKind is the media type of importForm.
const importKind = "multipart/form-data; boundary=x"

// importForm returns the form of the console's import with a file.
func importForm(do, file string) string {
	return "--x\r\nContent-Disposition: form-data; name=\"do\"\r\n\r\n" + do + "\r\n--x\r\n" +
		"Content-Disposition: form-data; name=\"file\"; filename=\"pets.csv\"\r\n\r\n" + file + "\r\n--x--\r\n"
}
