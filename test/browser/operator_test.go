package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestOperatorLive: the operator's pages follow what happens by themselves, and a link signs in once, whatever restarts.
func TestOperatorLive(t *testing.T) {
	t.Parallel()
	s := serve(t)
	key := s.newKey("small", 5, 100)
	id := s.keys("small")[0].ID
	link := s.operatorLink()
	b := newTab(t)
	b.open(t, link)
	b.submit(t, "^/console$")
	b.until(t, `document.querySelector(".live:not([hidden])") !== null`)
	for range 4 {
		s.call(key, "GET", "/pets", "")
	}
	b.comes(t, `document.querySelector("[aria-label='Nearest their quota']")?.textContent.includes("4 of 100")`)

	b.open(t, s.ops+"/console/bans")
	b.until(t, `document.querySelector(".empty") !== null && document.querySelector(".live:not([hidden])") !== null`)
	s.command("key", "ban", id, "--for=1h", "--reason=<img src=x onerror=alert(1)>")
	b.until(t, `document.querySelector("tbody")?.textContent.includes("<img src=x") && document.querySelector(".empty") === null`)
	s.command("key", "unban", id)
	b.comes(t, `document.querySelector(".empty") !== null && document.querySelector("tbody") === null`)

	b.open(t, s.ops+"/console/audit")
	b.until(t, `["operator.link", "operator.sign_in", "ban.set", "ban.lift"].every((action) => document.querySelector("tbody").textContent.includes(action))`)
	b.quiet(t)
	b.do(t, chromedp.Click(".me button"))
	b.until(t, `document.querySelector("h1")?.textContent === "Operators only"`)
	b.open(t, link)
	b.do(t, chromedp.Click(`main form button`))
	b.until(t, `document.querySelector("h1")?.textContent === "This link has ended"`)
	b.quiet(t, "410")
}

// operatorLink returns a link of petstore operator login.
func (s *site) operatorLink() string {
	s.t.Helper()
	return strings.TrimSpace(petstore.Must(s.t, s.dir, "operator", "login", "--ops-addr", strings.TrimPrefix(s.ops, "http://")))
}
