package browser

import (
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// in makes the reader's zone one that no machine of ours is in.
func (b *tab) in(t *testing.T, zone string) {
	t.Helper()
	if _, err := chromedp.Call(b.ctx, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: zone}); err != nil {
		t.Fatal(err)
	}
}

// kolkata is half an hour off every zone of whole hours.
const kolkata = "Asia/Kolkata"

// body returns what the API answers to GET.
func (s *site) body(path string) string {
	s.t.Helper()
	_, text := s.send(s.key, http.MethodGet, path, "")
	return text
}

const tipText = `(document.querySelector("#tip").hidden ? "" : document.querySelector("#tip").textContent)`

// TestTimes: times are in the reader's zone and name it, and UTC is told on hover and keyboard focus. What is entered is
// in the same zone.
func TestTimes(t *testing.T) {
	t.Parallel()
	s, b := serve(t), newTab(t)
	b.in(t, kolkata)
	b.signIn(t, s, s.key)
	b.open(t, s.url+"/console/orders/new")
	b.do(t, chromedp.SetValue("#f-petId", "42"),
		chromedp.Evaluate[chromedp.Void](`document.querySelector("#f-shipDate").value = "2026-03-05T09:15"; undefined`))
	if label := ask(t, b, chromedp.Text(`label[for="f-shipDate"]`)); !strings.Contains(label, "GMT+5:30") {
		t.Errorf("a ship date is asked for as %q, without the zone", label)
	}
	b.submit(t, "^/console/orders/[0-9]+$")
	order := strings.TrimPrefix(ask(t, b, chromedp.Evaluate[string](`location.pathname`)), "/console")
	if got := s.body("/store" + order); !strings.Contains(got, `"shipDate":"2026-03-05T03:45:00Z"`) {
		t.Errorf("09:15 in Kolkata was kept in %s", got)
	}
	if got := ask(t, b, chromedp.Evaluate[string](`document.querySelector("#f-shipDate").value`)); got != "2026-03-05T09:15" {
		t.Errorf("the form shows %s of a ship date that was entered as 09:15", got)
	}
	b.until(t, `[...document.querySelectorAll("main time")].some((e) => e.textContent === "Mar 5, 09:15 AM GMT+5:30")`)

	b.open(t, s.url+"/console/orders?from=2026-03-05&to=2026-03-05")
	b.until(t, `document.querySelector('label[for="f-from"]').textContent.includes("GMT+5:30")`)
	b.open(t, s.url+"/console")
	b.until(t, `document.querySelectorAll(".reset time").length > 0 && [...document.querySelectorAll(".reset time")].every((e) => /^in (\d+ h \d+ min|\d+ min \d+ s|\d+ s)$/.test(e.textContent))`)
	for _, page := range []string{"/console", "/console/keys", "/console/orders", "/console/requests"} {
		b.open(t, s.url+page)
		const unnamed = `[...document.querySelectorAll("main time[data-utc]")].filter((e) => !e.closest(".reset, [hidden]") && !e.textContent.includes("GMT+5:30")).map((e) => e.textContent).join(", ")`
		if got := ask(t, b, chromedp.Evaluate[string](unnamed)); got != "" {
			t.Errorf("%s has times without their zone: %s", page, got)
		}
	}
	b.open(t, s.url+"/console/orders")
	b.do(t, chromedp.Evaluate[chromedp.Void](`document.querySelector("tbody time[tabindex='0']").focus(); undefined`))
	first := ask(t, b, chromedp.Evaluate[string](tipText))
	b.do(t, chromedp.KeyEvent(kb.ArrowDown))
	second := ask(t, b, chromedp.Evaluate[string](tipText))
	if !strings.HasSuffix(first, " UTC") || !strings.HasSuffix(second, " UTC") {
		t.Errorf("the times that have the focus tell %q and %q", first, second)
	}
	b.do(t, chromedp.KeyEvent(kb.Escape))
	b.until(t, tipText+` === ""`)
	b.quiet(t)
}

// TestCharts: axis and bars are in the same zone, which is named, and the bars are read with the mouse, a finger and the keys.
func TestCharts(t *testing.T) {
	t.Parallel()
	s, b := serve(t), newTab(t)
	b.in(t, kolkata)
	b.signIn(t, s, s.key)
	for range 3 {
		s.call(s.key, "GET", "/pets", "")
	}
	b.open(t, s.url+"/console")
	b.until(t, `Number(document.querySelector("[data-total='0']").textContent) >= 3`)
	b.until(t, `document.querySelector("[data-zone]").textContent.startsWith("Times in GMT+5:30, Asia/")`)
	b.do(t, chromedp.Evaluate[chromedp.Void](`document.querySelector(".chart svg").focus({focusVisible: true}); undefined`), chromedp.KeyEvent(kb.End))
	last := ask(t, b, chromedp.Evaluate[string](tipText))
	b.do(t, chromedp.KeyEvent(kb.Home))
	first := ask(t, b, chromedp.Evaluate[string](tipText))
	if !strings.Contains(last, "GMT+5:30: ") || !strings.Contains(first, "GMT+5:30: 0") || first == last {
		t.Errorf("the first and the last bar tell %q and %q", first, last)
	}
	// The first tick of the axis is when the first bar begins.
	const agrees = `document.querySelector(".labels time").textContent.replace(/ .M/, "").replace(/^0/, "")`
	if tick := ask(t, b, chromedp.Evaluate[string](agrees)); !strings.Contains(first, tick) {
		t.Errorf("the axis begins at %s, and the first bar with %q", tick, first)
	}
	b.do(t, chromedp.Evaluate[chromedp.Void](`(() => {
		document.activeElement.blur();
		const svg = document.querySelector(".chart svg"), box = svg.getBoundingClientRect();
		svg.dispatchEvent(new PointerEvent("pointerdown", {pointerType: "touch", clientX: box.right - 2, clientY: box.top + 9, bubbles: true}));
	})()`))
	if touched := ask(t, b, chromedp.Evaluate[string](tipText)); !strings.Contains(touched, "GMT+5:30: ") {
		t.Errorf("a finger on the last bar tells %q", touched)
	}
	b.quiet(t)
}
