package console_test

import (
	"fmt"
	"html"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/usage"
)

// TestRequestPage: a request is found by its id, says why it failed, and can be sent again.
func TestRequestPage(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := h.workspace("shop")
	k, secret := h.key(w, access.Read, time.Time{})
	g := h.guest()
	g.post("/console/signin", "key", secret).want(303, "")
	failed := usage.Event{
		At: h.clock.Now(), Method: "GET", Path: "/pets/it's", Query: "name=a+b&x=<i>", Operation: "getPet", Status: 404, Code: "pet_not_found",
		Duration: 3 * time.Millisecond, KeyID: k.ID, RequestID: "the-one.7",
	}
	h.usage.Record(w.ID, failed)
	for i := range 500 {
		h.usage.Record(w.ID, usage.Event{At: h.clock.Now(), Method: "POST", Path: "/pets", Status: 201, KeyID: k.ID, RequestID: fmt.Sprint("ok", i)})
	}
	for _, query := range []string{"id=the-one.7", "outcome=errors", "path=" + url.QueryEscape("x=<i>")} {
		a := g.get("/console/requests?"+query).want(200, `href="/console/requests/the-one.7"`)
		a.want(200, `href="/docs/guides/errors#pet_not_found"`).want(200, "name=a&#43;b&amp;x=&lt;i&gt;")
		if strings.Contains(a.body, ">ok") {
			t.Errorf("?%s shows other requests too", query)
		}
	}
	a := g.get("/console/requests/the-one.7").want(200, `<span class="badge s4">404</span></h1>`).want(200, "getPet").want(200, "till").want(200, `href="/docs/guides/errors#pet_not_found"`)
	a.want(200, `curl -i &#39;`+h.url+`/pets/it%27s?name=a&#43;b&amp;x=&lt;i&gt;&#39; \`).want(200, "$PETSTORE_KEY")
	if strings.Contains(a.body, secret[4:]) || strings.Contains(a.body, "Why was this refused?") {
		t.Errorf("the page of a request says too much:\n%s", a.body)
	}
	seen, query := map[string]bool{}, "method=POST&outcome=2xx&from=2026-03-01&to=2026-03-01&key="+k.ID
	for at := "/console/requests?" + query; at != ""; {
		a := g.get(at).want(200, `href="/console/requests.csv?`)
		for _, row := range regexp.MustCompile(`href="/console/requests/(ok\d+)"`).FindAllStringSubmatch(a.body, -1) {
			if seen[row[1]] {
				t.Fatalf("%s shows %s once more", at, row[1])
			}
			seen[row[1]] = true
		}
		if at = ""; strings.Contains(a.body, `rel="next"`) {
			at = html.UnescapeString(regexp.MustCompile(`rel="next" href="([^"]+)"`).FindStringSubmatch(a.body)[1])
		}
		h.usage.Record(w.ID, failed) // what comes meanwhile moves no page
	}
	if rows := strings.Count(g.get("/console/requests.csv?"+query).body, "\n"); len(seen) != 200 || rows != 201 {
		t.Errorf("the pages show %d requests, and the CSV has %d lines with its head, want the latest 200", len(seen), rows)
	}
	for _, query := range []string{"from=2026-03-02", "to=2026-02-28", "key=other", "method=PUT", "before=1.a"} {
		if a := g.get("/console/requests?" + query); strings.Contains(a.body, `href="/console/requests/ok`) {
			t.Errorf("?%s shows requests:\n%s", query, a.body)
		}
	}
	g.get("/console/requests/ok499").want(200, "curl -i -X POST").want(200, "body.json")
	g.get("/console/requests/ok0").want(404, "not in the log")
	other := h.signedIn(h.workspace("other"), access.Read)
	other.get("/console/requests/the-one.7").want(404, "not in the log")
}

// TestWhyRefused: the page of a refused request says which window was full, until which second, and how far the key is from a ban.
func TestWhyRefused(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := h.planned("shop", access.Enterprise, access.Quota{PerMinute: 5, PerDay: 100})
	k, secret := h.key(w, access.Read, time.Time{})
	g := h.guest()
	g.post("/console/signin", "key", secret).want(303, "")
	slot := h.keys.Entry(k.ID).Attachment
	for i, refused := range []string{"minute", "day", "banned"} {
		h.usage.Record(w.ID, usage.Event{
			At: h.clock.Now(), Method: "GET", Path: "/pets", Status: 429, Code: "rate_limit_exceeded", KeyID: k.ID, RequestID: refused,
			Refused: refused, Limit: int64(5 + i), Until: h.clock.Now().Add(time.Duration(i+1) * time.Minute).Unix(),
		})
	}
	for range 5 {
		h.limiter.Admit(slot)
	}
	g.get("/console/requests?outcome=429").want(200, `href="/console/requests/minute"`)
	g.get("/console/requests/minute").want(200, "The 5 requests of the minute were spent").want(200, "2026-03-01T12:01:00Z").
		want(200, "5 <small>of 5</small>").want(200, "20 more strikes ban")
	g.get("/console/requests/day").want(200, "The 6 requests of the UTC day were spent").want(200, "2026-03-01T12:02:00Z")
	for range 30 { // refusals more than two seconds after the first are strikes
		h.limiter.Admit(slot)
		h.clock.Advance(time.Second)
	}
	g.get("/console/requests/banned").want(200, "The key was banned").want(200, "The key is banned until").want(200, "2026-03-01T12:03:00Z")
}
