package browser

import (
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// mostClicks is how many clicks each of the tasks below may take. The key Enter in a form is a click: it sends it.
const mostClicks = 4

// countClicks has every page count the clicks that the browser made on behalf of somebody, not those of a script.
func (b *tab) countClicks(t *testing.T) {
	t.Helper()
	const count = `addEventListener("click", (e) => { if (e.isTrusted) sessionStorage.clicks = 1 + Number(sessionStorage.clicks ?? 0) }, true)`
	if _, err := chromedp.Call(b.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: count}); err != nil {
		t.Fatal(err)
	}
}

// task does something that begins on a page, and holds that it takes few clicks.
func (b *tab) task(t *testing.T, what, from string, do func()) {
	t.Helper()
	b.open(t, from)
	b.do(t, chromedp.Evaluate[chromedp.Void](`sessionStorage.removeItem("clicks"); undefined`))
	do()
	switch n := ask(t, b, chromedp.Evaluate[int](`Number(sessionStorage.clicks ?? 0)`)); {
	case n == 0:
		t.Errorf("%s took no click: they are not counted", what)
	case n > mostClicks:
		t.Errorf("%s took %d clicks, want %d at most", what, n, mostClicks)
	default:
		t.Logf("%s: %d clicks", what, n)
	}
}

// click clicks on something that the page shows, and waits for the page to which that leads to say so.
func (b *tab) click(t *testing.T, selector, then string) {
	t.Helper()
	at := b.place(t, selector)
	b.do(t, chromedp.MouseClickXY(at[0], at[1]))
	b.until(t, then)
}

// place scrolls to what the page shows, and returns where it is. Unlike a node, a place lasts when a live list is filled anew.
func (b *tab) place(t *testing.T, selector string) []float64 {
	t.Helper()
	one := fmt.Sprintf("document.querySelector(%q)", selector)
	b.until(t, one+"?.checkVisibility() === true")
	return ask(t, b, chromedp.Evaluate[[]float64](`(() => {
		`+one+`.scrollIntoView({block: "center", behavior: "instant"});
		const box = `+one+`.getClientRects()[0];
		return [box.x + box.width / 2, box.y + box.height / 2];
	})()`))
}

// enter types into a field, and sends its form.
func (b *tab) enter(t *testing.T, selector, text, then string) {
	t.Helper()
	b.do(t, chromedp.SendKeys(selector, text))
	b.enterKey(t, selector, then)
}

func (b *tab) enterKey(t *testing.T, selector, then string) {
	t.Helper()
	b.do(t, chromedp.SendKeys(selector, "\n"))
	b.until(t, then)
}

func titled(text string) string {
	return fmt.Sprintf(`(document.querySelector("h1")?.textContent ?? "").includes(%q)`, text)
}

// TestTasks: what owners do often takes four clicks at most.
func TestTasks(t *testing.T) {
	t.Parallel()
	s, b := serve(t), newTab(t)
	b.countClicks(t)
	key := s.newKey("busy", 1000, 10_000)
	b.signIn(t, s, key)
	s.call(key, "POST", "/categories", `{"name":"Dogs"}`)
	s.call(key, "POST", "/pets", `{"name":"Rex","categoryId":1}`)
	s.call(key, "PATCH", "/inventory/1", `{"quantity":500}`)

	b.task(t, "a read-only key and a first call with it", s.url+"/console", func() {
		b.click(t, `main a[href$="/console/keys/new"]`, titled("Create a key"))
		b.do(t, chromedp.SendKeys("#f-name", "dashboard"), chromedp.Click(`input[value="write"]`))
		b.click(t, `main form button[type="submit"]`, `document.querySelector("#call") !== null`)
		b.click(t, `[data-copy="call"]`, `["Copied", "Selected"].includes(document.querySelector('[data-copy="call"]').textContent)`)
		command := strings.Replace(ask(t, b, chromedp.Text("#call")), "curl ", "curl -sS --fail ", 1)
		if out, err := exec.CommandContext(t.Context(), "sh", "-c", command).CombinedOutput(); err != nil || !strings.Contains(string(out), "Rex") {
			t.Errorf("the first call answers %s, %v, want the pets", out, err)
		}
	})
	b.task(t, "50 units added", s.url+"/console", func() {
		b.click(t, `.nav a[href$="/console/pets"]`, titled("Pets"))
		b.enter(t, "#f-name", "Rex", `document.querySelector("tbody").rows.length === 1`)
		b.click(t, `main td a[href$="/console/stock/1"]`, titled("Stock of"))
		b.enter(t, "#f-units", "50", `document.querySelector(".sheet h2")?.textContent === "Why is it 550?"`)
	})
	for range 177 {
		if status := s.call(key, "POST", "/store/orders", `{"petId":1}`); status != http.StatusCreated {
			t.Fatalf("createOrder = %d", status)
		}
	}
	b.task(t, "order 177 found and cancelled", s.url+"/console", func() {
		b.click(t, `.nav a[href$="/console/orders"]`, titled("Orders"))
		b.enter(t, "#f-number", "177", titled("Order 177"))
		b.click(t, `main .act summary.danger`, `document.querySelector(".act form[action$='/177/cancel']").offsetParent !== null`)
		b.click(t, `main .act[open] button`, `document.querySelector(".note")?.textContent.includes("cancelled")`)
	})
	b.task(t, "an order's history told", s.url+"/console", func() {
		b.click(t, `.nav a[href$="/console/orders"]`, titled("Orders"))
		b.enter(t, "#f-number", "177", `document.querySelector(".sheet tbody")?.textContent.includes("Cancelled")`)
	})
	b.task(t, "an order completed from the list", s.url+"/console", func() {
		b.click(t, `.nav a[href$="/console/orders"]`, titled("Orders"))
		b.click(t, `tbody tr:first-child .act summary`, `document.querySelector("tbody .act form").offsetParent !== null`)
		b.click(t, `tbody .act[open] button`, `location.pathname === "/console/orders" && document.querySelector(".note")?.textContent.includes("Order 176 is complete")`)
	})
	b.task(t, "a category with a typo put right", s.url+"/console", func() {
		b.click(t, `.nav a[href$="/console/categories"]`, titled("Categories"))
		b.click(t, `tbody a.name`, titled("Dogs"))
		b.enter(t, "#f-name", "!", titled("!Dogs"))
	})
	if status := s.call(key, "GET", "/store/orders/177", ""); status != http.StatusNotFound {
		t.Errorf("the cancelled order answers %d, want 404", status)
	}
	b.quiet(t)
}

// TestTasksOfReaders: the same for what the pages explain.
func TestTasksOfReaders(t *testing.T) {
	t.Parallel()
	s, b := serve(t), newTab(t)
	b.countClicks(t)
	key := s.newKey("small", 9, 1000)
	b.signIn(t, s, key)
	s.until(func() bool { return s.call(key, "GET", "/pets", "") == http.StatusTooManyRequests })
	b.task(t, "why 429", s.url+"/console", func() {
		b.click(t, `.nav a[href$="/console/requests"]`, titled("Requests"))
		b.click(t, `main tbody tr:first-child td:nth-child(2)`, `document.querySelector(".refused")?.textContent.includes("The 9 requests of the minute were spent")`)
	})
	b.task(t, "how to page", s.url+"/docs", func() {
		b.do(t, chromedp.SendKeys("#search", "paging"))
		b.until(t, `document.querySelector('#results[aria-busy="false"] [aria-selected="true"] a')?.pathname === "/docs/guides/pagination"`)
		b.enterKey(t, "#search", `location.pathname === "/docs/guides/pagination"`)
	})
	b.task(t, "what insufficient_stock means", s.url+"/console", func() {
		b.enter(t, "#find", "insufficient_stock", `location.pathname === "/docs/search"`)
		b.click(t, `main a[href$="#insufficient_stock"]`, `document.querySelector(":target")?.textContent.includes("insufficient_stock")`)
	})
	b.quiet(t)
}

// TestOperatorTasks: the same for operators.
func TestOperatorTasks(t *testing.T) {
	t.Parallel()
	s, b := serve(t), newTab(t)
	b.countClicks(t)
	key := s.newKey("small", 100, 5)
	s.until(func() bool { return s.call(key, "GET", "/pets", "") == http.StatusTooManyRequests })
	id := s.keys("small")[0].ID
	s.command("key", "ban", id, "--for=1h", "--reason=too fast")
	b.open(t, s.operatorLink())
	b.submit(t, "^/console$")

	b.task(t, "a workspace over quota seen", s.ops+"/console", func() {
		b.until(t, `document.querySelector("[data-card='0'] [data-hint]").textContent === "1 over quota"`)
		b.click(t, `[data-card="0"]`, `document.querySelector("main tbody tr")?.textContent.includes("small") && document.querySelector("main tbody tr").textContent.includes("over quota")`)
		b.click(t, `main tbody tr a.name`, `document.querySelector(".note.bad")?.textContent.includes("Over quota: the limit of 5 requests a day is used up")`)
	})
	b.task(t, "a plan changed", s.ops+"/console", func() {
		b.click(t, `.nav a[href$="/console/workspaces"]`, titled("Workspaces"))
		b.click(t, `main tbody a[href$="/console/workspaces/2/plan"]`, titled("Plan of small"))
		b.do(t, chromedp.Click(`input[value="business"]`))
		b.click(t, `main form button[type="submit"]`, `document.querySelector(".note")?.textContent.includes("is now business")`)
	})
	b.task(t, "a ban lifted", s.ops+"/console", func() {
		b.click(t, `.nav a[href$="/console/bans"]`, titled("Bans"))
		b.click(t, `main tbody .does a`, titled("Lift the ban?"))
		b.click(t, `main form button[type="submit"]`, `document.querySelector(".note")?.textContent.includes("The ban was lifted")`)
	})
	if status := s.call(key, "GET", "/pets", ""); status != http.StatusOK {
		t.Errorf("after its ban was lifted and its plan changed the key answers %d, want 200", status)
	}
	b.quiet(t)
}
