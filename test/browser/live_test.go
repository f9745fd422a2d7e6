package browser

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// TestLiveInUse: a page that is live replaces only what has changed, keeps where a table was scrolled to, and leaves what is in use.
// While that is behind, the page does not say that it is live.
func TestLiveInUse(t *testing.T) {
	t.Parallel()
	s, b := serve(t), newTab(t)
	key := s.newKey("small", 1000, 10_000)
	b.signIn(t, s, key)
	b.open(t, s.url+"/console/requests")
	run := func(script string) {
		t.Helper()
		b.do(t, chromedp.Evaluate[chromedp.Void](`{ `+script+` }; undefined`))
	}
	const live = `document.querySelector(".live").checkVisibility()`
	asked := `performance.getEntriesByType("resource").filter((e) => e.initiatorType === "xmlhttprequest").length`
	row := func(path string) string {
		return `document.querySelector("tbody").textContent.includes("` + path + `")`
	}

	run(`globalThis.first = document.querySelector("[data-live]")`)
	b.comes(t, asked+` > 1`) // the one before was looked at
	b.until(t, `first.isConnected && `+live)

	run(`const wide = new CSSStyleSheet(); wide.replaceSync(".table > table { width: 3000px; }"); document.adoptedStyleSheets = [wide];
		document.querySelector(".table").scrollLeft = 200; document.querySelector(".table").focus()`)
	s.call(key, "GET", "/pets/1", "")
	b.comes(t, row("/pets/1"))
	b.until(t, `document.querySelector(".table").scrollLeft === 200 && document.activeElement.matches(".table") && `+live)

	run(`document.activeElement.blur(); getSelection().selectAllChildren(document.querySelector("tbody td"))`)
	s.call(key, "GET", "/pets/2", "")
	b.comes(t, `!`+live)
	b.until(t, `getSelection().toString().includes("/pets/1")`)
	run(`getSelection().removeAllRanges()`)
	b.comes(t, row("/pets/2")+` && `+live)

	run(`document.querySelector("tbody a").focus()`)
	s.call(key, "GET", "/pets/3", "")
	b.comes(t, `!`+live)
	b.until(t, `document.activeElement.matches("tbody a")`)
	run(`document.activeElement.blur()`)
	b.comes(t, row("/pets/3")+` && `+live)

	b.open(t, s.url+"/console")
	run(`const chart = document.querySelector(".chart svg"), { left, top } = chart.getBoundingClientRect();
		chart.dispatchEvent(new PointerEvent("pointerdown", { clientX: left + 5, clientY: top + 5 }));
		globalThis.used = document.querySelector("[data-meter='0'] strong").textContent`)
	s.call(key, "GET", "/pets/4", "")
	b.comes(t, `document.querySelector("[data-meter='0'] strong").textContent !== used && !`+live)
	b.until(t, `document.querySelector(".columns .on") !== null`)
	b.quiet(t)
}
