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
	for _, width := range []int64{390, 820, 1024, 1440} {
		b.window(t, width, 900)
		for _, path := range []string{"/console/workspaces", "/console/workspaces/2", "/console/workspaces/2/plan", "/console/busy", "/console/audit"} {
			b.open(t, s.ops+path)
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

// TestOperatorWithoutScript: an operator makes a workspace and a key to it, bans it and finds that in the audit log, by
// forms alone. Times are in UTC, which they name.
func TestOperatorWithoutScript(t *testing.T) {
	t.Parallel()
	s, b := serve(t), newTab(t)
	b.withoutScript(t)
	b.open(t, s.operatorLink())
	b.submit(t, "^/console$")
	b.open(t, s.ops+"/console/workspaces/new")
	b.do(t, chromedp.SendKeys("#f-name", "Corner"))
	b.submit(t, "^/console/workspaces/2$")
	b.do(t, chromedp.Click(`.head a[href$="/keys/new"]`))
	b.until(t, `location.pathname === "/console/workspaces/2/keys/new"`)
	b.do(t, chromedp.SendKeys("#f-name", "till"))
	b.submit(t, "^/console/workspaces/2/keys/new$")
	key := ask(t, b, chromedp.Text("#made"))
	if status := s.call(key, "GET", "/pets", ""); status != 200 {
		t.Errorf("the key that was made answers %d, want 200", status)
	}
	b.do(t, chromedp.Click(`main a[href="/console/workspaces/2"]`))
	b.until(t, `document.querySelector("h1")?.textContent.includes("Corner")`)
	b.do(t, chromedp.Click(`main a[href$="/ban"]`))
	b.until(t, `document.querySelector("#f-reason") !== null`)
	b.do(t, chromedp.SendKeys("#f-reason", "too fast"))
	b.submit(t, "^/console/workspaces/2$")
	if status := s.call(key, "GET", "/pets", ""); status != 429 {
		t.Errorf("the key that was banned answers %d, want 429", status)
	}
	b.open(t, s.ops+"/console/audit?text=TILL+of+corner&action=ban")
	b.until(t, `document.querySelector("main tbody").rows.length === 1 && document.querySelector("main tbody").textContent.includes("too fast")`)
	if text := ask(t, b, chromedp.Text("main tbody time")); !strings.HasSuffix(text, " UTC") {
		t.Errorf("without the script a time is %q", text)
	}
	b.open(t, s.ops+"/console/health")
	b.until(t, `["uptime", "disk", "database", "last backup"].every((part) => document.querySelector("main table").textContent.includes(part))`)
	b.quiet(t, "ERR_BLOCKED")
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
