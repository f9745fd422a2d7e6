package browser

import (
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestWhyRefused: from a refusal in the log to why, until when and what it would take for a ban, and to the request as curl.
func TestWhyRefused(t *testing.T) {
	t.Parallel()
	s := serve(t)
	b := newTab(t)
	key := s.newKey("small", 9, 1000)
	b.signIn(t, s, key)
	b.open(t, s.url+"/console/requests")
	b.until(t, `document.querySelector(".live:not([hidden])") !== null`)
	s.call(key, "GET", "/pets/77?color=red", "")
	s.until(func() bool { return s.call(key, "GET", "/pets?limit=5", "") == http.StatusTooManyRequests })

	// The rows that come live are those that the page has when it is loaded.
	b.until(t, `[...document.querySelectorAll("tbody tr")].some((r) => r.textContent.includes("429"))`)
	const row = `JSON.stringify([...[...document.querySelectorAll("tbody tr")].find((r) => r.textContent.includes("429")).querySelectorAll("td:not(:last-child)")]
		.map((td) => [td.className, td.textContent, [...td.querySelectorAll("a")].map((a) => a.href)]))`
	live := ask(t, b, chromedp.Evaluate[string](row))
	b.look(t, s.url+"/console/requests?outcome=errors")
	if loaded := ask(t, b, chromedp.Evaluate[string](row)); loaded != live {
		t.Errorf("a row that is loaded is\n%s\nand one that comes live\n%s", loaded, live)
	}
	b.open(t, s.url+"/console/requests?outcome=429")
	b.do(t, chromedp.Click(`main tbody td:nth-child(4)`)) // anywhere in the row
	b.until(t, `location.pathname.startsWith("/console/requests/")`)
	b.until(t, `["The 9 requests of the minute were spent", "9 of 9", "more strikes ban the key"].every((text) => document.querySelector(".refused").textContent.includes(text))`)
	b.until(t, `new Date(document.querySelector(".refused time").dateTime) > Date.now() && document.querySelector(".refused time").textContent.split(":").length === 3`)
	b.until(t, `document.querySelector("#curl").textContent.includes("/pets?limit=5'")`)
	b.inspect(t, "a refused request")

	b.open(t, s.url+"/console/requests?path=color%3Dred")
	b.do(t, chromedp.Evaluate[chromedp.Void](`document.querySelector('main td:nth-child(3) a').click(); undefined`))
	b.until(t, `location.pathname === "/docs/guides/errors" && document.querySelector(":target") !== null`)
	b.quiet(t)
}
