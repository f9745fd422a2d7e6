package browser

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// A task is something that people do, with how many clicks it takes. The key Enter in a form is a click: it sends it.
type task struct {
	what   string
	clicks int
	legs   []leg
}

// A leg is what one of those who do a task does from a page on.
type leg struct {
	tab  *tab
	from string
	do   func()
}

// mostClicks is how many clicks a task may take.
const mostClicks = 5

// countClicks has every page count the clicks that the browser made on behalf of somebody, not those of a script, and the
// pages that were loaded.
func (b *tab) countClicks(t *testing.T) {
	t.Helper()
	const count = `(() => {
		const add = (name) => { sessionStorage[name] = 1 + Number(sessionStorage[name] ?? 0) };
		add("loads");
		addEventListener("click", (e) => { if (e.isTrusted && e.detail > 0) add("clicks") }, true); // 0: by the key
		addEventListener("keydown", (e) => { if (e.isTrusted && e.key === "Enter") add("clicks") }, true);
	})()`
	if _, err := chromedp.Call(b.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: count}); err != nil {
		t.Fatal(err)
	}
}

// run does a task, and holds that it takes as many clicks as it says.
func (k *task) run(t *testing.T) {
	t.Helper()
	clicks, loads := 0, 0
	for _, l := range k.legs {
		l.tab.open(t, l.from)
		l.tab.do(t, chromedp.Evaluate[chromedp.Void](`sessionStorage.clear(); undefined`))
		l.do()
		clicks += ask(t, l.tab, chromedp.Evaluate[int](`Number(sessionStorage.clicks ?? 0)`))
		loads += ask(t, l.tab, chromedp.Evaluate[int](`Number(sessionStorage.loads ?? 0)`))
		l.tab.quiet(t)
	}
	if t.Logf("| %-42s | %6d | %5d |", k.what, clicks, loads); clicks != k.clicks || clicks > mostClicks {
		t.Errorf("%s took %d clicks, want %d, and %d at most", k.what, clicks, k.clicks, mostClicks)
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
	return b.poll(t, fmt.Sprintf(`(() => {
		const one = document.querySelector(%q);
		if (one?.checkVisibility() !== true) return [];
		one.scrollIntoView({block: "center", behavior: "instant"});
		const box = one.getClientRects()[0];
		return [box.x + box.width / 2, box.y + box.height / 2];
	})()`, selector))
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

// copies copies a text by the button beside it.
func (b *tab) copies(t *testing.T, what string) {
	t.Helper()
	button := fmt.Sprintf(`[data-copy=%q]`, what)
	b.click(t, button, fmt.Sprintf("[\"Copied\", \"Selected\"].includes(document.querySelector(%q).textContent)", button))
}

// TestTasks: what people do often in the consoles takes few clicks.
func TestTasks(t *testing.T) {
	t.Parallel()
	shop, ops := serve(t, "--webhook-allow-http", "--webhook-allow-to=127.0.0.0/8"), serve(t)
	all := slices.Concat(ownersTasks(t, shop), refusedTasks(t, shop), operatorsTasks(t, ops))
	if len(all) != 12 {
		t.Errorf("these are %d tasks, want 12", len(all))
	}
	t.Logf("| %-42s | clicks | pages |", "task")
	for i := range all {
		all[i].run(t)
	}
}

// busyShop has a tab that is signed in to a shop with a pet, its stock and 177 orders.
func busyShop(t *testing.T, s *site) (b *tab, key string) {
	t.Helper()
	b = newTab(t)
	b.countClicks(t)
	key = s.newKey("busy", 1000, 10_000)
	b.signIn(t, s, key)
	s.call(key, "POST", "/categories", `{"name":"Dgos"}`)
	s.call(key, "POST", "/pets", `{"name":"Rex","categoryId":1}`)
	s.call(key, "PATCH", "/inventory/1", `{"quantity":677}`)
	for range 177 {
		if status := s.call(key, "POST", "/store/orders", `{"petId":1}`); status != http.StatusCreated {
			t.Fatalf("createOrder = %d", status)
		}
	}
	return b, key
}

// ownersTasks are those of who keeps a shop.
func ownersTasks(t *testing.T, s *site) []task {
	b, key := busyShop(t, s)
	at := func(what string, clicks int, do func()) task {
		return task{what, clicks, []leg{{b, s.url + "/console", do}}}
	}
	return []task{
		at("a read-only key and a first call with it", 4, func() {
			b.click(t, `main a[href$="/console/keys/new"]`, titled("Create a key"))
			b.do(t, chromedp.SendKeys("#f-name", "dashboard"), chromedp.Click(`input[value="write"]`))
			b.click(t, `main form button[type="submit"]`, `document.querySelector("#call") !== null`)
			b.copies(t, "call")
			command := strings.Replace(ask(t, b, chromedp.Text("#call")), "curl ", "curl -sS --fail ", 1)
			if out, err := exec.CommandContext(t.Context(), "sh", "-c", command).CombinedOutput(); err != nil || !strings.Contains(string(out), "Rex") {
				t.Errorf("the first call answers %s, %v, want the pets", out, err)
			}
		}),
		at("fifty units received", 4, func() {
			b.click(t, `.nav a[href$="/console/pets"]`, titled("Pets"))
			b.enter(t, "#f-name", "Rex", `document.querySelector("tbody").rows.length === 1`)
			b.click(t, `main td a.name`, titled("Rex"))
			b.enter(t, "#f-units", "50", `document.querySelector(".sheet h2")?.textContent === "Why is the stock 550?"`)
		}),
		at("order 177 found and cancelled", 4, func() {
			b.click(t, `.nav a[href$="/console/orders"]`, titled("Orders"))
			b.enter(t, "#f-number", "177", titled("Order 177"))
			b.click(t, `main .act summary.danger`, `document.querySelector(".act form[action$='/177/cancel']").offsetParent !== null`)
			b.click(t, `main .act[open] button`, `document.querySelector(".note")?.textContent.includes("cancelled")`)
			if status := s.call(key, "GET", "/store/orders/177", ""); status != http.StatusNotFound {
				t.Errorf("the cancelled order answers %d, want 404", status)
			}
		}),
		at("an order's history told", 2, func() {
			b.click(t, `.nav a[href$="/console/orders"]`, titled("Orders"))
			b.enter(t, "#f-number", "177", `document.querySelector(".sheet tbody")?.textContent.includes("Cancelled")`)
		}),
		at("a category with a typo put right", 3, func() {
			b.click(t, `.nav a[href$="/console/categories"]`, titled("Categories"))
			b.click(t, `tbody a.name`, titled("Dgos"))
			b.do(t, chromedp.Evaluate[chromedp.Void](`document.querySelector("#f-name").select(); undefined`))
			b.enter(t, "#f-name", "Dogs", titled("Dogs"))
		}),
		webhookTask(t, s, b, key),
	}
}

// webhookTask has a webhook that fails, and was disabled for that.
func webhookTask(t *testing.T, s *site, b *tab, key string) task {
	t.Helper()
	var received atomic.Int64
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/new" {
			w.WriteHeader(http.StatusGone)
			_, _ = io.WriteString(w, "moved")
			return
		}
		received.Add(1)
	}))
	t.Cleanup(receiver.Close)
	if status := s.call(key, "POST", "/webhooks", fmt.Sprintf(`{"url":"%s/old","types":["category.created"]}`, receiver.URL)); status != http.StatusCreated {
		t.Fatalf("createWebhook = %d", status)
	}
	s.call(key, "POST", "/categories", `{"name":"Insects"}`)
	s.until(func() bool {
		_, hooks := s.send(key, "GET", "/webhooks", "")
		return strings.Contains(hooks, `"disabled"`)
	})
	return task{"a failing webhook found, mended, replayed", 5, []leg{{b, s.url + "/console", func() {
		b.click(t, `.sheets a[href*="/console/webhooks/"]`, titled("Webhook"))
		b.click(t, `main .acts a[href$="/edit"]`, titled("Edit the webhook"))
		b.do(t, chromedp.Evaluate[chromedp.Void](`document.querySelector("#f-url").select(); undefined`))
		b.enter(t, "#f-url", receiver.URL+"/new", `document.querySelector(".note")?.textContent.includes("saved")`)
		b.click(t, `main .acts a[href$="/replay"]`, titled("Send events again"))
		b.click(t, `main form button[type="submit"]`, `document.querySelector(".note")?.textContent.includes("1 event that failed is sent again")`)
		s.until(func() bool { return received.Load() == 1 })
	}}}}
}

// refusedTasks are those of somebody whose requests are refused.
func refusedTasks(t *testing.T, s *site) []task {
	b := newTab(t)
	b.countClicks(t)
	key := s.newKey("small", 9, 1000)
	b.signIn(t, s, key)
	spend := func() {
		s.until(func() bool { return s.call(key, "GET", "/pets", "") == http.StatusTooManyRequests })
	}
	spend()
	return []task{
		{"why 429", 2, []leg{{b, s.url + "/console", func() {
			spend() // the minute of the first time may be over
			b.click(t, `.nav a[href$="/console/requests"]`, titled("Requests"))
			b.click(t, `main tbody tr:first-child td:nth-child(2)`, `document.querySelector(".sheet .hint")?.textContent.includes("The 9 requests of the minute were spent")`)
			b.until(t, `["9 of 9", "more strikes ban the key"].every((text) => document.querySelector(".sheet").textContent.includes(text)) &&
				new Date(document.querySelector(".sheet .hint time").dateTime) > Date.now() && document.querySelector("#code").textContent.includes("/pets'")`)
			b.inspect(t, "a refused request")
		}}}},
		{"last week's refusals of one key", 4, []leg{{b, s.url + "/console", func() {
			b.click(t, `.nav a[href$="/console/keys"]`, titled("API keys"))
			b.click(t, `main tbody a.name`, `document.querySelector(".sheet h2")?.textContent === "Use by day"`)
			b.click(t, `main .facts a[href$="outcome=429"]`, titled("Requests"))
			week := time.Now().AddDate(0, 0, -7).Format(time.DateOnly)
			b.do(t, chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`document.querySelector("#f-from").value = %q; undefined`, week)))
			b.enterKey(t, "#f-from", `location.search.includes("from=`+week[:4]+`") && document.querySelectorAll("tbody tr").length > 0 && [...document.querySelectorAll("tbody tr")].every((row) => row.textContent.includes("429"))`)
		}}}},
	}
}

// operatorsTasks are those of who keeps the service.
func operatorsTasks(t *testing.T, s *site) []task {
	b, owner := newTab(t), newTab(t)
	b.countClicks(t)
	owner.countClicks(t)
	key := s.newKey("small", 100, 5)
	s.until(func() bool { return s.call(key, "GET", "/pets", "") == http.StatusTooManyRequests })
	id := s.keys("small")[0].ID
	s.command("key", "ban", id, "--for=1h", "--reason=too fast")
	b.open(t, s.operatorLink())
	b.submit(t, "^/console$")
	at := func(what string, clicks int, do func()) task {
		return task{what, clicks, []leg{{b, s.ops + "/console", do}}}
	}
	var letIn task
	letIn = at("an owner let in", 5, func() {
		b.click(t, `main a[href$="/console/workspaces/new"]`, titled("Create a workspace"))
		b.enter(t, "#f-name", "zoo", titled("Let the owner in"))
		b.click(t, `main form button[type="submit"]`, titled("A link for the owner of zoo"))
		b.copies(t, "made")
		letIn.legs[1].from = ask(t, b, chromedp.Text("#made"))
	})
	letIn.legs = append(letIn.legs, leg{owner, "", func() {
		owner.click(t, `main form button[type="submit"]`, titled("Your key to zoo"))
	}})
	return []task{
		at("a workspace over quota seen", 2, func() {
			b.until(t, `document.querySelector("[data-card='0'] .hint").textContent === "1 over quota"`)
			b.click(t, `[data-card="0"]`, `document.querySelector("main tbody tr")?.textContent.includes("small") && document.querySelector("main tbody tr").textContent.includes("over quota")`)
			b.click(t, `main tbody tr a.name`, `document.querySelector(".note.bad")?.textContent.includes("Over quota: the limit of 5 requests a day is used up")`)
		}),
		at("a plan changed", 4, func() {
			b.click(t, `.nav a[href$="/console/workspaces"]`, titled("Workspaces"))
			b.click(t, `main tbody a[href$="/console/workspaces/2/plan"]`, titled("Plan of small"))
			b.do(t, chromedp.Click(`input[value="business"]`))
			b.click(t, `main form button[type="submit"]`, `document.querySelector(".note")?.textContent.includes("is now business")`)
		}),
		at("a ban lifted", 3, func() {
			b.click(t, `.nav a[href$="/console/bans"]`, titled("Bans"))
			b.click(t, `main tbody .does a`, titled("Lift the ban?"))
			b.click(t, `main form button[type="submit"]`, `document.querySelector(".note")?.textContent.includes("The ban was lifted")`)
			if status := s.call(key, "GET", "/pets", ""); status != http.StatusOK {
				t.Errorf("after its ban was lifted and its plan changed the key answers %d, want 200", status)
			}
		}),
		letIn,
	}
}
