package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestOperator signs in with the link of petstore operator login, looks at every page, and lifts a ban.
func TestOperator(t *testing.T) {
	t.Parallel()
	program := axe(t)
	s := serve(t)
	key := s.newKey("small", 5, 100)
	id := s.keys("small")[0].ID
	s.command("key", "ban", id, "--for=1h", "--reason=too <i>fast</i>")
	b := newTab(t)
	b.open(t, s.operatorLink())
	b.submit(t, "^/console$")
	for _, path := range []string{"/console", "/console?range=day", "/console/workspaces", "/console/workspaces?sort=use", "/console/workspaces/new", "/console/workspaces/1", "/console/workspaces/2?range=day", "/console/workspaces/2/plan", "/console/workspaces/2/name", "/console/workspaces/2/reset", "/console/workspaces/2/delete", "/console/workspaces/2/keys/new", "/console/keys/" + id + "/ban", "/console/keys/" + id + "/rotate", "/console/busy", "/console/bans", "/console/bans/" + id, "/console/health", "/console/audit"} {
		b.look(t, s.ops+path, program)
	}
	s.until(func() bool { return s.call(key, "GET", "/pets", "") == 429 })
	b.open(t, s.ops+"/console/bans/"+id)
	b.submit(t, "^/console/bans$")
	b.until(t, `document.querySelector(".empty")?.textContent.includes("No key is banned")`)
	if status := s.call(key, "GET", "/pets", ""); status != 200 {
		t.Errorf("after the ban was lifted the key answers %d, want 200", status)
	}
	b.quiet(t)
}

// TestOperatorLongNames: the longest name of a workspace cuts no table off.
func TestOperatorLongNames(t *testing.T) {
	t.Parallel()
	s, b := serve(t), newTab(t)
	s.newKey(strings.Repeat("W", 100), 5, 100)
	b.open(t, s.operatorLink())
	b.submit(t, "^/console$")
	for _, path := range []string{"/console/workspaces", "/console/workspaces/2", "/console/workspaces/2/plan", "/console/busy", "/console/audit"} {
		b.open(t, s.ops+path)
		for _, width := range []int64{390, 820, 1024, 1440} {
			b.window(t, width, 900)
			if over := max(ask(t, b, chromedp.Evaluate[int](cutOff)), ask(t, b, chromedp.Evaluate[int](tooWide))); over > 1 {
				t.Errorf("%s is cut off by %d pixels in a window of %d", path, over, width)
			}
		}
	}
	b.quiet(t)
}

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
	b.until(t, `document.querySelector("[data-table=nearest] tbody").textContent.includes("4 of 100")`)
	b.until(t, `Number(document.querySelector("[data-card='1'] [data-value]").textContent) >= 4 && Number(document.querySelector("[data-total='0']").textContent) >= 4`)

	b.open(t, s.ops+"/console/bans")
	b.until(t, `document.querySelector(".empty").offsetParent !== null && document.querySelector(".live:not([hidden])") !== null`)
	s.command("key", "ban", id, "--for=1h", "--reason=<img src=x onerror=alert(1)>")
	b.until(t, `document.querySelector("tbody")?.textContent.includes("<img src=x") && document.querySelector(".empty").hidden`)
	s.command("key", "unban", id)
	b.until(t, `document.querySelector(".empty").offsetParent !== null && document.querySelector("tbody").rows.length === 0`)

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
	link, err := petstore.Run(s.dir, "operator", "login", "--ops-addr", strings.TrimPrefix(s.ops, "http://"))
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.TrimSpace(link)
}
