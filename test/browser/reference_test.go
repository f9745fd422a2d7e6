package browser

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// fill sets a field of a form of the reference, as typing does.
func (b *tab) fill(t *testing.T, selector, value string) {
	t.Helper()
	b.do(t, chromedp.Evaluate[chromedp.Void](fmt.Sprintf(
		`(() => { const e = document.querySelector(%q); e.value = %q; e.dispatchEvent(new Event("input", {bubbles: true})); })()`, selector, value)))
}

// TestSamplesFollow: the samples are what the form would send. What is copied has the key, and works as it stands.
func TestSamplesFollow(t *testing.T) {
	t.Parallel()
	s, b := serve(t), newTab(t)
	b.open(t, s.url+"/docs/animals")
	const shown = `document.querySelector("#createPet [data-lang=sh]").textContent`
	before := ask(t, b, chromedp.Evaluate[string](shown))
	const coloured = `["[data-lang=sh] .k", ".language-json .p"].map((token) => document.querySelector("#createPet " + token)?.textContent).join(" ")`
	if got := ask(t, b, chromedp.Evaluate[string](coloured)); got != `curl "id"` {
		t.Errorf("the first word and the first name that are coloured are %s, want curl and \"id\"", got)
	}
	b.fill(t, "#createPet .key", s.key)
	b.fill(t, "#createPet textarea", `{"name": "Rex's \"best\" friend", "categoryId": 3}`)
	b.fill(t, `#createPet [data-name="Idempotency-Key"]`, `"a-$HOME-b"`)
	after := ask(t, b, chromedp.Evaluate[string](shown))
	if strings.Contains(after, s.key) || !strings.Contains(after, s.key[:8]+"…") || !strings.Contains(after, "best") || before == after {
		t.Errorf("with a key, a body and a header field the sample changed from\n%s\nto\n%s", before, after)
	}
	for lang, want := range map[string][]string{
		"sh": {s.key, `'{"name": "Rex'\''s \"best\" friend", "categoryId": 3}'`, `\"a-\$HOME-b\"`}, "javascript": {"Bearer " + s.key, "categoryId: 3", `"\"a-$HOME-b\""`},
		"python": {`"Bearer ` + s.key, `"categoryId": 3`, `"\"a-$HOME-b\""`}, "go": {`"Bearer ` + s.key, "`{", `"\"a-$HOME-b\"")`},
	} {
		copied := ask(t, b, chromedp.Evaluate[string](`samples.copied(document.querySelector("#createPet [data-lang=`+lang+`]"))`))
		for _, w := range want {
			if !strings.Contains(copied, w) || strings.Contains(copied, "PETSTORE_KEY") || strings.Contains(copied, "uuid") {
				t.Errorf("the %s that is copied has no %s:\n%s", lang, w, copied)
			}
		}
		if lang != "sh" {
			continue
		}
		out, err := exec.CommandContext(t.Context(), "sh", "-c", copied+` -sS -w ' %{http_code}'`).CombinedOutput()
		if err != nil || !strings.HasSuffix(string(out), " 201") || !strings.Contains(string(out), `Rex's \"best\" friend`) {
			t.Errorf("%s\nanswers %s, %v", copied, out, err)
		}
	}
	b.fill(t, `#listPets [data-name="status"]`, "available, sold")
	if got := ask(t, b, chromedp.Evaluate[string](`samples.copied(document.querySelector("#listPets [data-lang=sh]"))`)); !strings.Contains(got, "/pets?status=available&status=sold\"") {
		t.Errorf("with two statuses the sample is\n%s", got)
	}
	b.quiet(t)
}

// TestOwnIDs: who is signed in has ids of the own workspace in the reference, others those of the demo; and from an
// operation one comes to the console, and back.
func TestOwnIDs(t *testing.T) {
	t.Parallel()
	s, b := serve(t), newTab(t)
	const id = `document.querySelector("#getPet [data-name=petId]").value`
	b.open(t, s.url+"/docs/animals")
	if got := ask(t, b, chromedp.Evaluate[string](id)); got != "42" || s.call(s.key, "GET", "/pets/42", "") != 200 {
		t.Errorf("without a session the id is %s, want 42, which the demo has", got)
	}
	key := s.newKey("own", 1000, 100000)
	s.call(key, "POST", "/categories", `{"name":"Cats"}`)
	for _, name := range []string{"One", "Two"} {
		s.call(key, "POST", "/pets", `{"name":"`+name+`","categoryId":1}`)
	}
	s.call(key, "DELETE", "/pets/1", "")
	b.signIn(t, s, key)
	b.open(t, s.url+"/docs/animals")
	b.until(t, id+` === "2"`)
	b.until(t, `document.querySelector("#getPet .whose").textContent.includes("own")`)
	b.until(t, `document.querySelector("#getPet [data-lang=sh]").textContent.includes("/pets/2\"")`)
	b.until(t, `JSON.parse(document.querySelector("#createPet textarea").value).categoryId === 1`)
	b.do(t, chromedp.Click("#getPet .there"))
	b.until(t, `location.pathname === "/console/pets/2"`)
	b.do(t, chromedp.Click("header .file"))
	b.until(t, `location.pathname === "/docs/animals"`)
	b.open(t, s.url+"/console/orders/new")
	b.do(t, chromedp.Click("header .file"))
	b.until(t, `location.pathname === "/docs/orders" && location.hash === "#createOrder"`)
	b.quiet(t)
}

// TestVisitor: a reader without a key makes a first call with two clicks, in a sandbox whose key is nowhere but in this tab,
// and in the samples that are copied; from there its console opens. Where there are no sandboxes, nothing is said of them.
func TestVisitor(t *testing.T) {
	t.Parallel()
	s, b := serve(t, "--sandbox", "--sandbox-per-address=1"), newTab(t)
	b.open(t, s.url+"/docs")
	began := time.Now()
	b.do(t, chromedp.Click(`.go a[href$="-try"]`))
	b.until(t, `document.querySelector("#listPets .send button")?.textContent === "Get a key and send GET"`)
	b.do(t, chromedp.Click("#listPets .send button"))
	b.until(t, `document.querySelector("#listPets .outcome .status").textContent === "200 OK"`)
	t.Logf("the first call took %v; the goal is 10s, on a machine that does nothing else", time.Since(began))
	key := ask(t, b, chromedp.Evaluate[string](`sessionStorage.getItem("key")`))
	elsewhere := ask(t, b, chromedp.Evaluate[string](`location.href + document.body.innerText + JSON.stringify(localStorage) + document.cookie`))
	if status := s.call(key, "GET", "/pets/42", ""); status != 200 || strings.Contains(elsewhere, key) {
		t.Errorf("with the key %q a pet is answered %d; beside the tab are %s", key, status, elsewhere)
	}
	copied := ask(t, b, chromedp.Evaluate[string](`samples.copied(document.querySelector("#getPet [data-lang=sh]"))`))
	if out, err := exec.CommandContext(t.Context(), "sh", "-c", copied+" -sS").CombinedOutput(); err != nil || !strings.Contains(string(out), `"id":42,`) {
		t.Errorf("%s\nanswers %s, %v", copied, out, err)
	}
	b.open(t, s.url+"/docs/categories?again#createCategory-try")
	b.until(t, `document.querySelector("#createCategory .own time") && document.querySelector("#createCategory .send button").textContent === "Send POST"`)
	b.do(t, chromedp.Click("#createCategory .own button"))
	b.until(t, `location.pathname === "/console" && document.querySelector("h1")?.textContent === "Overview" && document.body.innerText.includes("sandbox-")`)
	b.quiet(t)

	other := newTab(t)
	other.open(t, s.url+"/docs/webhooks#listWebhooks-try")
	other.until(t, `document.querySelector("#listWebhooks .send button").textContent === "Send GET"`) // the key could not
	other.open(t, s.url+"/docs/animals#listPets-try")
	other.until(t, `document.querySelector("#listPets .own").textContent !== ""`)
	other.do(t, chromedp.Click("#listPets .send button"))
	other.until(t, `document.querySelector("#listPets .outcome .text").textContent.includes("rate_limit_exceeded")`)
	other.quiet(t, "429")
	without := serve(t)
	other.open(t, without.url+"/docs/animals#listPets-try")
	other.until(t, `document.querySelector("#listPets .send button").textContent === "Send GET" && !document.body.innerHTML.includes("sandboxes")`)
	other.quiet(t)
}

// TestAnswerTabs: the answers of an operation are in tabs, which the keys change; without the script, and on paper, they
// stand one after another.
func TestAnswerTabs(t *testing.T) {
	t.Parallel()
	s, b := serve(t), newTab(t)
	b.open(t, s.url+"/docs/orders#createOrder")
	const shown = `[...document.querySelectorAll("#createOrder .rest > .answers > li")].filter((e) => e.offsetParent !== null).map((e) => e.querySelector(".status").textContent).join(" ")`
	first := ask(t, b, chromedp.Evaluate[string](shown))
	b.do(t, chromedp.Evaluate[chromedp.Void](`document.querySelector("#createOrder [role=tab]").focus(); undefined`), chromedp.KeyEvent(kb.ArrowRight))
	second := ask(t, b, chromedp.Evaluate[string](shown))
	if first != "201" || second != "400" {
		t.Errorf("the tabs show %s and then %s, want 201 and 400", first, second)
	}
	all := ask(t, b, chromedp.Evaluate[string](`[...document.querySelectorAll("#createOrder [role=tab]")].map((e) => e.textContent).join(" ")`))
	b.media(t, "print")
	if got := ask(t, b, chromedp.Evaluate[string](shown)); got != all {
		t.Errorf("on paper are %s, want %s", got, all)
	}
	b.media(t, "")
	b.withoutScript(t)
	b.open(t, s.url+"/docs/orders?plain#createOrder")
	if got := ask(t, b, chromedp.Evaluate[string](shown)); got != all {
		t.Errorf("without the script are %s, want %s", got, all)
	}
	b.do(t, chromedp.Click(`label[for="createOrder-go"]`))
	if code := ask(t, b, chromedp.Text(`#createOrder [data-lang="go"]`)); !strings.Contains(code, "http.NewRequest") {
		t.Errorf("without the script the tab of Go shows %q", code)
	}
}

// TestReader: what a reader chose is remembered, a link into a page shows its section, and an answer that has a script in it
// runs none.
func TestReader(t *testing.T) {
	t.Parallel()
	s, b := serve(t), newTab(t)
	const color = `getComputedStyle(document.body).backgroundColor`
	b.open(t, s.url+"/docs/orders")
	before := ask(t, b, chromedp.Evaluate[string](color))
	b.do(t, chromedp.Click(".theme"), chromedp.Click(`label[for="cancelOrder-go"]`))
	b.open(t, s.url+"/docs/inventory")
	after := ask(t, b, chromedp.Evaluate[string](color))
	if language := ask(t, b, chromedp.Evaluate[string](`document.querySelector(".tabs input:checked").value`)); before == after || language != "go" {
		t.Errorf("the next page is %s, as before the change, in %s; want another colour, and go", after, language)
	}
	for _, path := range []string{"/docs/animals#createPet", "/docs/orders#cancelOrder", "/docs/guides/errors#insufficient_stock", "/docs/guides/limits#backoff"} {
		b.open(t, "about:blank")
		b.open(t, s.url+path)
		b.until(t, `scrollY > 0`)
		_, id, _ := strings.Cut(path, "#")
		bar := ask(t, b, chromedp.Evaluate[int](`Math.round(document.querySelector(".top").getBoundingClientRect().bottom)`))
		place := fmt.Sprintf(`(() => { const e = document.getElementById(%q); return Math.round((e.querySelector("h2") ?? e).getBoundingClientRect().top); })()`, id)
		if top := ask(t, b, chromedp.Evaluate[int](place)); top < bar || top > bar+200 {
			t.Errorf("%s shows its heading at %d, want it close below the bar, which ends at %d", path, top, bar)
		}
	}
	s.call(s.key, "POST", "/categories", `{"name":"<script>document.title='owned'</script>"}`)
	b.open(t, s.url+"/docs/categories#listCategories")
	b.do(t, chromedp.Click("#listCategories .try > summary"), chromedp.SendKeys("#listCategories .try .key", s.key), chromedp.Click("#listCategories .try button"))
	b.until(t, `document.querySelector("#listCategories .outcome .text")?.textContent.includes("<script>document.title='owned'</script>")`)
	if got := ask(t, b, chromedp.Title()); got == "owned" {
		t.Error("a script in an answer was run")
	}
	b.quiet(t)
}

// TestAnswerInView: after Send the answer is seen without scrolling.
func TestAnswerInView(t *testing.T) {
	t.Parallel()
	s, b := serve(t), newTab(t)
	for _, page := range []string{"/docs/animals", "/docs/account", "/docs/webhooks"} {
		b.open(t, s.url+page)
		b.fill(t, ".try .key", s.key+"x") // refused: nothing changes
		op := ask(t, b, chromedp.Evaluate[string](`document.querySelector(".op").id`))
		for _, size := range [][2]int64{{1440, 900}, {390, 844}} {
			b.window(t, size[0], size[1])
			b.do(t, chromedp.Evaluate[chromedp.Void](`(() => {
				const box = document.querySelector(".try");
				box.querySelector(".outcome .status").textContent = "";
				box.open = true;
				box.scrollIntoView({behavior: "instant"});
				box.querySelector("form button").click();
			})()`))
			b.until(t, `document.querySelector(".outcome .status").textContent.startsWith("4")`) // 401, and 429 once the address has asked often
			const seen = `(() => { const e = document.querySelector(".outcome .status"), r = e.getBoundingClientRect(); return e.contains(document.elementFromPoint(r.left + r.width / 2, r.top + r.height / 2)); })()`
			if !ask(t, b, chromedp.Evaluate[bool](seen)) {
				t.Errorf("at %d pixels the answer of %s is out of view", size[0], op)
			}
			const order = `document.querySelector(".tabs").getBoundingClientRect().top < document.querySelector(".answers").getBoundingClientRect().top`
			if !ask(t, b, chromedp.Evaluate[bool](order)) {
				t.Errorf("at %d pixels the samples of %s stand behind its errors", size[0], op)
			}
		}
	}
	b.quiet(t, "401", "429")
}
