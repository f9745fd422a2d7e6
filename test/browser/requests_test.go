package browser

import (
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestWhyRefused: a refusal comes into the log that is looked at, and leads to why it was, until when, and what it would take for a ban.
func TestWhyRefused(t *testing.T) {
	t.Parallel()
	s := serve(t)
	b := newTab(t)
	key := s.newKey("small", 9, 1000)
	b.signIn(t, s, key)
	b.open(t, s.url+"/console/requests")
	s.until(func() bool { return s.call(key, "GET", "/pets?limit=5", "") == http.StatusTooManyRequests })
	b.comes(t, `[...document.querySelectorAll("tbody tr")].some((r) => r.textContent.includes("429"))`)
	b.look(t, s.url+"/console/requests?outcome=429")
	b.do(t, chromedp.Click(`main tbody td:nth-child(4)`)) // anywhere in the row
	b.until(t, `["The 9 requests of the minute were spent", "9 of 9", "more strikes ban the key"].every((text) => document.querySelector(".sheet")?.textContent.includes(text))`)
	b.until(t, `new Date(document.querySelector(".sheet .hint time").dateTime) > Date.now() && document.querySelector("#code").textContent.includes("/pets?limit=5'")`)
	b.inspect(t, "a refused request")
	b.quiet(t)
}
