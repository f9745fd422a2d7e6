package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestDoubleClick: a double click places one order, and the button says that it is at work.
func TestDoubleClick(t *testing.T) {
	t.Parallel()
	s, b := serve(t), newTab(t)
	key := s.newKey("shop", 1000, 10_000)
	s.call(key, "POST", "/categories", `{"name":"Dogs"}`)
	s.call(key, "POST", "/pets", `{"name":"Rex","categoryId":1}`)
	s.call(key, "PATCH", "/inventory/1", `{"quantity":9}`)
	b.signIn(t, s, key)
	b.open(t, s.url+"/console/orders/new?petId=1")
	b.do(t, chromedp.Evaluate[chromedp.Void](`(() => { // both clicks come before the answer
		const button = document.querySelector("main form .button[type=submit]");
		new MutationObserver(() => { sessionStorage.said = button.textContent; }).observe(button, { childList: true });
		addEventListener("submit", (e) => { if (!e.defaultPrevented) sessionStorage.sent = (sessionStorage.sent ?? "") + "once"; });
		button.click();
		button.click();
	})()`))
	b.until(t, titled("Order ")+` && sessionStorage.said === "Working…" && sessionStorage.sent === "once"`)
	if status, placed := s.send(key, "GET", "/store/orders", ""); strings.Count(placed, `"petId"`) != 1 {
		t.Errorf("a double click placed these orders, want one: %d %s", status, placed)
	}
	b.quiet(t)
}
