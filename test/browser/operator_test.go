package browser

import (
	"os/exec"
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
	cmd := exec.Command(bin, "operator", "login", "--ops-addr", strings.TrimPrefix(s.ops, "http://"))
	cmd.Dir = s.dir
	link, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	b := newTab(t)
	b.open(t, strings.TrimSpace(string(link)))
	b.submit(t, "^/console$")
	for _, path := range []string{"/console", "/console/workspaces/1", "/console/busy", "/console/bans", "/console/bans/" + id, "/console/health", "/console/audit"} {
		b.open(t, s.ops+path)
		b.do(t, chromedp.Evaluate[chromedp.Void](program+";undefined"))
		for _, width := range []int64{1440, 390} {
			b.window(t, width, 900)
			for _, scheme := range []string{"light", "dark"} {
				b.scheme(t, scheme)
				b.accessible(t, path+" of the operator, "+scheme)
			}
			if over := ask(t, b, chromedp.Evaluate[int](`document.documentElement.scrollWidth - innerWidth`)); over > 0 {
				t.Errorf("%s of the operator is %d pixels wider than a window of %d", path, over, width)
			}
		}
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
