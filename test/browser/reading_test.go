package browser

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
)

// tooWide is how many pixels the page is wider than its window.
const tooWide = `document.documentElement.scrollWidth - innerWidth`

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
	for _, path := range []string{"/console/keys?state=all", "/console/requests", "/console/orders", "/console/pets"} {
		b.open(t, s.url+path)
		for _, width := range []int64{390, 700, 820, 900, 1024, 1280} {
			b.window(t, width, 900)
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

// TestSearchInConsole: the console searches the docs, by the key too.
func TestSearchInConsole(t *testing.T) {
	t.Parallel()
	_, b := inConsole(t)
	b.do(t, chromedp.Evaluate[chromedp.Void](`document.body.dispatchEvent(new KeyboardEvent("keydown", {key: "/", bubbles: true})); undefined`))
	b.until(t, `document.activeElement.id === "find"`)
	b.do(t, chromedp.KeyEvent("how to page\n"))
	b.until(t, `location.pathname === "/docs/search" && document.querySelector("main a[href='/docs/guides/pagination']") !== null`)
	b.quiet(t)
}
