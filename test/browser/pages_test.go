package browser

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// public are pages that nobody needs to sign in for; inside are those of the demo shop's console. Of pages that differ in their
// rows alone there is one.
func public() []string {
	return []string{
		"/docs/animals", "/docs/orders", "/docs/account", "/docs/webhooks", "/console/signin", "/docs", "/docs/guides", "/docs/guides/first-request", "/docs/guides/errors",
		"/docs/guides/limits", "/docs/guides/webhooks", "/docs/guides/testing", "/docs/search?q=order", "/docs/search?q=giraffe",
	}
}

func inside() []string {
	return []string{
		"/console", "/console?range=quarter", "/console/requests", "/console/requests?outcome=4xx&path=pets",
		"/console/pets", "/console/pets?status=sold&name=an", "/console/pets/1", "/console/pets/new", "/console/pets/low", "/console/pets/import", "/console/pets/1/delete",
		"/console/categories", "/console/categories/2",
		"/console/orders", "/console/orders?state=late", "/console/orders/1", "/console/orders/2", "/console/orders/new?petId=4", "/console/orders/1/cancel",
		"/console/keys", "/console/keys/new", "/console/events", "/console/events?order=1", "/console/events/1", "/console/webhooks", "/console/webhooks/new",
	}
}

// hostile are names that people may enter. What they enter is shown, and does nothing.
func hostile() []string {
	return []string{
		`<script>document.title="owned"</script>`, `"><img src=x onerror="document.title='owned'">`, `{{.Secret}} ${7*7}`,
		"\u202eغير مؤذ abc", strings.Repeat("🦎", 100), strings.Repeat("W", 100),
	}
}

// TestEveryPage looks at every page, and listens whether the browser complains.
func TestEveryPage(t *testing.T) {
	t.Parallel()
	for name, arrive := range map[string]func(*testing.T) (b *tab, of string, paths []string){
		"public":   func(t *testing.T) (*tab, string, []string) { return newTab(t), serve(t).url, public() },
		"inside":   ownersPages,
		"operator": operatorsPages,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, of, paths := arrive(t)
			for _, path := range paths {
				b.look(t, of+path)
			}
			b.quiet(t)
			b.look(t, of+"/console/nothing")
			b.quiet(t, "404")
		})
	}
}

// ownersPages are those of the console of the demo shop, which was used, and has pets and categories with hostile names.
func ownersPages(t *testing.T) (b *tab, of string, paths []string) {
	t.Helper()
	s, b := inConsole(t)
	for i := range 12 {
		s.call(s.key, "GET", fmt.Sprint("/pets/", i*5), "")
	}
	var pet struct{ ID int64 }
	for _, name := range hostile() {
		s.call(s.key, "POST", "/categories", fmt.Sprintf(`{"name":%q}`, name))
		status, answer := s.send(s.key, "POST", "/pets", fmt.Sprintf(`{"name":%q,"categoryId":1}`, name))
		if err := json.Unmarshal([]byte(answer), &pet); err != nil || status != http.StatusCreated {
			t.Fatalf("a pet called %s: %d, %v", name, status, err)
		}
	}
	b.open(t, s.url+"/console/pets")
	text := ask(t, b, chromedp.Text("main table"))
	for _, name := range hostile() {
		if !strings.Contains(text, name) {
			t.Errorf("the list does not show %s", name)
		}
	}
	for _, path := range []string{"/console/pets/%d", "/console/orders/new?petId=%d"} {
		paths = append(paths, fmt.Sprintf(path, pet.ID))
	}
	return b, s.url, append(paths, inside()...)
}

// operatorsPages are those of the operator's console, with a workspace that has the longest name, and a banned key.
func operatorsPages(t *testing.T) (b *tab, of string, paths []string) {
	t.Helper()
	s := serve(t)
	long := strings.Repeat("W", 100)
	s.newKey(long, 5, 100)
	id := s.keys(long)[0].ID
	s.command("key", "ban", id, "--for=1h", "--reason=too <i>fast</i>")
	b = newTab(t)
	b.open(t, s.operatorLink())
	b.submit(t, "^/console$")
	return b, s.ops, []string{
		"/console", "/console/workspaces", "/console/workspaces/new", "/console/workspaces/2?range=day", "/console/workspaces/2/plan",
		"/console/workspaces/2/keys/new", "/console/bans", "/console/bans/" + id, "/console/health", "/console/audit",
	}
}

// TestForms looks at what is not there before somebody sent a form: its faults, a new key, and what that did.
func TestForms(t *testing.T) {
	t.Parallel()
	s, b := serve(t), newTab(t)
	b.look(t, s.signIn)
	b.signIn(t, s, s.key)
	b.open(t, s.url+"/console/pets/new")
	b.do(t, chromedp.SendKeys("#f-name", "   "), chromedp.SendKeys("#f-categoryId", "Dogs"))
	b.submit(t, "^/console/pets/new$")
	b.until(t, `document.querySelector("#h-name.error") !== null`)
	b.inspect(t, "a form with a fault")
	b.quiet(t, "422")
	b.open(t, s.url+"/console/keys/new")
	b.do(t, chromedp.SendKeys("#f-name", "kiosk"))
	b.submit(t, "^/console/keys/new$")
	b.until(t, `document.querySelector("#made") !== null`)
	b.inspect(t, "a key that was made")
	key := ask(t, b, chromedp.Text("#made"))
	for range 3 {
		s.call(key, "GET", "/pets/1", "")
	}
	s.call(key, "GET", "/inventory/1", "")
	b.open(t, s.url+"/console")
	b.until(t, `document.querySelector("[aria-label^=\"Keys that still call\"] tbody")?.textContent.includes("3") || location.reload()`) // use is saved within seconds
	b.inspect(t, "an overview with a key that calls what is deprecated")
	for _, what := range []string{"", "/rotate", "/revoke"} {
		b.look(t, s.url+"/console/keys/"+s.keyNamed("demo", "kiosk")+what)
	}
	b.quiet(t)
}
