package browser

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestWebhookLife: an event appears while its page is looked at, and a webhook is made, fails, is tried again and tested.
func TestWebhookLife(t *testing.T) {
	t.Parallel()
	s, b := serve(t, "--webhook-allow-http", "--webhook-allow-to=127.0.0.0/8"), newTab(t)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, "out of order")
	}))
	t.Cleanup(receiver.Close)
	b.signIn(t, s, s.key)
	b.open(t, s.url+"/console/webhooks/new")
	b.do(t, chromedp.SendKeys("#f-url", receiver.URL+"/hook"), chromedp.Click(`input[value="category.created"]`))
	b.submit(t, "^/console/webhooks/new$")
	b.until(t, `document.querySelector("#made")?.textContent.startsWith("whsec_")`)
	b.inspect(t, "a webhook that was made")
	b.do(t, chromedp.Click("main .button:not(.plain)"))
	b.until(t, `/^\/console\/webhooks\/wh_/.test(location.pathname)`)
	at := ask(t, b, chromedp.Evaluate[string](`location.pathname`))

	b.open(t, s.url+"/console/events")
	b.until(t, `document.querySelector(".live:not([hidden])") !== null`)
	if status := s.call(s.key, "POST", "/categories", `{"name":"Insects"}`); status != http.StatusCreated {
		t.Fatalf("createCategory = %d", status)
	}
	b.comes(t, `document.querySelector("tbody tr").textContent.includes("Insects")`)
	b.do(t, chromedp.Click(`tbody tr a`))
	b.until(t, `document.querySelector("h1").textContent.startsWith("Event ") && document.querySelector("main table").textContent.includes("Insects")`)

	b.open(t, s.url+at)
	b.comes(t, `document.querySelector("main table").textContent.includes("503")`)
	b.comes(t, `document.querySelector(".facts").textContent.includes("failing")`)
	for _, what := range []string{"", "/edit", "/replay"} {
		b.look(t, s.url+at+what)
	}
	b.open(t, s.url+at)
	b.do(t, chromedp.Click(`main table a[href*="/delivery?"]`))
	b.until(t, `document.querySelector("h1").textContent.startsWith("Delivery of event ") && document.querySelector("pre").textContent.includes("Insects")`)
	b.inspect(t, "a delivery")
	b.submit(t, at+"/delivery$")
	b.until(t, `document.querySelector(".note[role=status]").textContent.includes("sent again")`)
	b.comes(t, `[...document.querySelectorAll("main table tr")].filter((row) => row.textContent.includes("out of order")).length >= 2`)
	b.open(t, s.url+"/console")
	b.comes(t, `[...document.querySelectorAll("main table")].some((table) => table.textContent.includes("out of order"))`)
	b.inspect(t, "an overview with a webhook that fails")
	b.open(t, s.url+at+"/test")
	b.submit(t, "/test$")
	b.until(t, `document.querySelector(".note.bad[role=alert]:not(.limits)").textContent.includes("503")`)
	b.inspect(t, "a test that failed")
	b.quiet(t)
}
