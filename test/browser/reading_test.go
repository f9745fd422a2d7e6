package browser

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// TestWayIn: whoever comes with a browser finds the reference, from there the console, and how to get a key.
func TestWayIn(t *testing.T) {
	t.Parallel()
	s, b := serve(t), newTab(t)
	b.open(t, s.url+"/")
	b.until(t, `location.pathname === "/docs"`)
	b.do(t, chromedp.Click(`header a[href="/console"]`))
	b.until(t, `location.pathname === "/console/signin"`)
	b.do(t, chromedp.Click(`main a[href^="/docs/guides"]`))
	b.until(t, `location.pathname.startsWith("/docs/guides/") && document.querySelector(location.hash || "main")?.textContent.includes("petstore key create")`)
	b.quiet(t)
	b.open(t, s.url+"/docs/anmials")
	b.until(t, `document.querySelector("h1")?.textContent === "Page not found" && document.querySelector("#search") !== null`)
	b.quiet(t, "404")
}

// TestSearch: the docs and the console search the docs, by the keys alone; the first that is found is a key away.
func TestSearch(t *testing.T) {
	t.Parallel()
	s, b := inConsole(t)
	b.do(t, chromedp.Evaluate[chromedp.Void](`document.body.dispatchEvent(new KeyboardEvent("keydown", {key: "/", bubbles: true})); undefined`))
	b.until(t, `document.activeElement.id === "find"`)
	b.do(t, chromedp.KeyEvent("how to page\n"))
	b.until(t, `location.pathname === "/docs/search" && document.querySelector("main a[href='/docs/guides/pagination']") !== null`)
	b.open(t, s.url+"/docs")
	b.do(t, chromedp.SendKeys("#search", "paging"))
	b.until(t, `document.querySelector('#results[aria-busy="false"] [aria-selected="true"] a')?.pathname === "/docs/guides/pagination"`)
	b.enterKey(t, "#search", `location.pathname === "/docs/guides/pagination"`)
	b.quiet(t)
}
