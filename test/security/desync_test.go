package security

import (
	"net/url"
	"strings"
	"testing"
)

// TestReflectedRefusal has a page show text that looks like a refusal of
// net/http, at every place of the page. A server that took it for one would send
// more or fewer bytes than it announced, and a proxy would give the rest of one
// caller's answer to another.
func TestReflectedRefusal(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	key := s.workspace("shop")
	s.serve("--log-level=error")
	s.stock(key, "Pet", 1)
	for _, refusal := range []string{ // the least that is taken for one
		"HTTP/1.1 417 \r\nConnection: close\r\n",
		"HTTP/1.1 400 \r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n",
	} {
		l := s.dialFrom("127.0.0.1")
		for after := range len(refusal) {
			text := strings.Repeat("x", after) + strings.Repeat(refusal, 1200/len(refusal)) // a query has at most 2 KiB
			l.write(t, "GET /console/signin?next="+url.QueryEscape(text)+" HTTP/1.1\r\nHost: x\r\n\r\n")
			resp, page, err := l.read("GET")
			if err != nil || resp.StatusCode != 200 || !strings.Contains(page, text) {
				t.Fatalf("a page that shows %.20q after %d bytes: %v, %d bytes", refusal, after, err, len(page))
			}
			l.write(t, "GET /pets/1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+key+"\r\n\r\n")
			if resp, got, err := l.read("GET"); err != nil || resp.StatusCode != 200 || !strings.Contains(got, `"Pet 1"`) {
				t.Fatalf("the request after %.20q at %d was answered %v %s", refusal, after, err, got)
			}
		}
	}
}
