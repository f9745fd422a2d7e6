package browser

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing"

	"github.com/chromedp/chromedp"
)

// tooWide is how many pixels the page is wider than its window.
const tooWide = `document.documentElement.scrollWidth - innerWidth`

// TestZoomAndPrint: at twice the size, in a window of 320 pixels, and on paper no page is wider than it may be.
func TestZoomAndPrint(t *testing.T) {
	t.Parallel()
	s, b := inConsole(t)
	for _, path := range slices.Concat(reference(), guides(), inside()) {
		b.window(t, 720, 450) // what a window of 1440 has at 200 %
		b.open(t, s.url+path)
		for _, width := range []int64{720, 320} {
			b.window(t, width, 450)
			if over := ask(t, b, chromedp.Evaluate[int](tooWide)); over > 0 {
				t.Errorf("%s is %d pixels too wide in a window of %d", path, over, width)
			}
		}
		b.window(t, 720, 1000)
		b.media(t, "print")
		const printed = `[...document.querySelectorAll(".top, .nav, .theme, .copy, .tip")].filter((e) => e.offsetParent !== null || getComputedStyle(e).position === "sticky" && e.getClientRects().length > 0).length + Math.max(0, document.documentElement.scrollWidth - innerWidth)`
		if n := ask(t, b, chromedp.Evaluate[int](printed)); n > 0 {
			t.Errorf("%s on paper has %d things or pixels too many", path, n)
		}
		b.media(t, "")
	}
	b.quiet(t)
}

// cutOff is by how many pixels the tables of lists are wider than their place.
const cutOff = `[...document.querySelectorAll(".table, .wide")].map((e) => e.scrollWidth - e.clientWidth).reduce((a, b) => Math.max(a, b), 0)`

// TestTables: between a phone and a desktop no table is cut off, and no word is broken that has room.
func TestTables(t *testing.T) {
	t.Parallel()
	s, b := inConsole(t)
	for i := range 8 {
		s.call(s.key, "GET", fmt.Sprint("/pets/", i*9), "")
	}
	const broken = `(() => {
		const range = document.createRange(), found = [];
		for (const cell of document.querySelectorAll("td .name, td .badge, td code")) {
			const text = [...cell.querySelectorAll("*"), cell].flatMap((e) => [...e.childNodes]).filter((n) => n.nodeType === 3);
			for (const node of text) for (const word of node.data.matchAll(/[A-Za-z]{2,14}/g)) {
				range.setStart(node, word.index);
				range.setEnd(node, word.index + word[0].length);
				const tops = new Set([...range.getClientRects()].map((r) => Math.round(r.top)));
				if (tops.size > 1) found.push(word[0]);
			}
		}
		return found.join(" ");
	})()`
	for _, width := range []int64{390, 700, 820, 900, 1024, 1280} {
		b.window(t, width, 900)
		for _, path := range []string{"/console/keys?state=all", "/console/requests", "/console/orders", "/console/pets", "/console/stock"} {
			b.open(t, s.url+path)
			if over := ask(t, b, chromedp.Evaluate[int](cutOff)); over > 1 {
				t.Errorf("the table of %s is cut off by %d pixels in a window of %d", path, over, width)
			}
			if words := ask(t, b, chromedp.Evaluate[string](broken)); words != "" {
				t.Errorf("%s breaks %s in a window of %d", path, words, width)
			}
		}
	}
	b.quiet(t)
}

// TestSmallPages: no page has more than 40 KB on its way.
func TestSmallPages(t *testing.T) {
	t.Parallel()
	s := serve(t)
	cookie := s.session(&http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }})
	for _, path := range slices.Concat(reference(), guides(), inside()) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.AddCookie(cookie)
		r.Header.Set("Accept-Encoding", "gzip")
		answer, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		sent, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		if answer.StatusCode != http.StatusOK || len(sent) > 40_000 {
			t.Errorf("%s answers %d with %d bytes", path, answer.StatusCode, len(sent))
		}
	}
}

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

// TestSearchInConsole: the console searches the docs, by the key too, and without its script.
func TestSearchInConsole(t *testing.T) {
	t.Parallel()
	s, b := inConsole(t)
	b.do(t, chromedp.Evaluate[chromedp.Void](`document.body.dispatchEvent(new KeyboardEvent("keydown", {key: "/", bubbles: true})); undefined`))
	b.until(t, `document.activeElement.id === "find"`)
	b.do(t, chromedp.KeyEvent("how to page\n"))
	b.until(t, `location.pathname === "/docs/search" && document.querySelector("main a[href='/docs/guides/pagination']") !== null`)
	b.withoutScript(t)
	b.open(t, s.url+"/console/pets")
	b.do(t, chromedp.SendKeys("#find", "insufficient_stock\n"))
	b.until(t, `location.pathname === "/docs/search" && document.querySelector("main a[href='/docs/guides/errors#insufficient_stock']") !== null`)
	b.quiet(t, "ERR_BLOCKED")
}

// TestManyTabs: a page that is not looked at gives its live stream back, so that the eighth tab still has one.
func TestManyTabs(t *testing.T) {
	t.Parallel()
	s, b := inConsole(t)
	for i := range 8 {
		ctx, closeTab := chromedp.NewContext(b.ctx)
		t.Cleanup(func() { closeTab() })
		other := &tab{ctx: ctx}
		other.open(t, s.url+"/console")
		other.until(t, `document.querySelector(".live:not([hidden])") !== null`)
		other.do(t, chromedp.Evaluate[chromedp.Void](`Object.defineProperty(document, "hidden", {value: true}); document.dispatchEvent(new Event("visibilitychange")); undefined`))
		if live := ask(t, other, chromedp.Evaluate[bool](`document.querySelector(".live:not([hidden])") !== null`)); live {
			t.Errorf("tab %d goes on while it is hidden", i+1)
		}
	}
}
