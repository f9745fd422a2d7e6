package browser

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// TestWithoutScript: the console does its work without its script, and offers nothing that needs it.
func TestWithoutScript(t *testing.T) {
	t.Parallel()
	s := serve(t)
	b := newTab(t)
	b.withoutScript(t)
	b.signIn(t, s, s.key)
	b.open(t, s.url+"/console/categories/new")
	b.do(t, chromedp.SendKeys("#f-name", "Insects"))
	b.submit(t, "^/console/categories$")
	b.until(t, `document.querySelector("main table").textContent.includes("Insects")`)
	s.call(s.key, "GET", "/pets", "")
	for _, path := range []string{"/console", "/console/requests", "/console/keys"} {
		b.open(t, s.url+path)
		const useless = `document.documentElement.classList.contains("js") ? -1 :
			[...document.querySelectorAll(".theme, .live, .copy, [data-pause]")].filter((e) => e.offsetParent !== null).length`
		if n := ask(t, b, chromedp.Evaluate[int](useless)); n != 0 {
			t.Errorf("%s shows %d things that need the script (-1: it ran)", path, n)
		}
		if text := ask(t, b, chromedp.Evaluate[bool](`[...document.querySelectorAll("main time")].every((e) => e.dateTime && e.textContent.trim() !== "")`)); !text {
			t.Errorf("%s has a time that is not shown", path)
		}
	}
	b.open(t, s.url+"/console/requests")
	b.until(t, `document.querySelector("main tbody").textContent.includes("/pets")`)
}
