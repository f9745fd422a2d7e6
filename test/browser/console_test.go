package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestKeyLife: make a key, use it, watch the meter move, hit the limit, see the ban, lift it, revoke the key.
func TestKeyLife(t *testing.T) {
	t.Parallel()
	s := serve(t, "--ban-strikes=3", "--ban-grace=1ms")
	b := newTab(t)
	b.signIn(t, s, s.newKey("small", 9, 1000))
	b.open(t, s.url+"/console/keys/new")
	b.do(t, chromedp.SendKeys("#f-name", "till"), chromedp.Click("input[value=manage]"))
	b.submit(t, "^/console/keys/new$")
	key := ask(t, b, chromedp.Text("#made"))

	b.open(t, s.url+"/console/requests")
	b.until(t, `document.querySelector(".live:not([hidden])") !== null`)
	if status := s.call(key, "GET", "/pets?limit=1", ""); status != http.StatusOK {
		t.Fatalf("the new key answers %d", status)
	}
	b.comes(t, `document.querySelector("main tbody tr")?.textContent.includes("/pets")`)

	b.open(t, s.url+"/console")
	meter := func(used int, level string) {
		t.Helper()
		b.comes(t, fmt.Sprintf(`document.querySelector("[data-meter='0'] strong").textContent === "%d" && document.querySelector("[data-meter='0']").classList.contains(%q)`, used, level))
	}
	meter(2, "ok") // to make the key counted too
	for range 7 {
		s.call(key, "GET", "/pets", "")
	}
	meter(9, "full")
	s.until(func() bool {
		s.call(key, "GET", "/pets", "")
		return s.isBanned("small")
	})
	b.comes(t, `Number(document.querySelector("[data-total='3']").textContent) > 0`)
	b.open(t, s.url+"/console/keys")
	b.until(t, `document.querySelector(".badge.banned") !== null`)

	// The banned key itself may look, is told why, and can change nothing.
	b.do(t, chromedp.Click(".me button"))
	b.until(t, `location.pathname === "/console/signin"`)
	b.signIn(t, s, key)
	b.until(t, `document.querySelector(".limits").textContent.includes("This key is banned")`)
	b.open(t, s.url+"/console/pets")
	if n := ask(t, b, chromedp.Evaluate[int](`document.querySelectorAll("main form[method=post], main a[href$=new]").length`)); n != 0 {
		t.Errorf("a banned key is offered %d ways to change something", n)
	}
	s.command("key", "unban", s.keyNamed("small", "till"))
	b.open(t, s.url+"/console")
	b.comes(t, `!document.querySelector(".limits").textContent.includes("This key is banned")`)
	s.command("workspace", "set-plan", "small", "enterprise", "--per-minute=1000", "--per-day=1000")
	b.comes(t, `document.querySelector(".limits").offsetParent === null`)
	b.open(t, s.url+"/console/keys/"+s.keyNamed("small", "till")+"/revoke")
	b.submit(t, "^/console/signin$")
	if status := s.call(key, "GET", "/account", ""); status != http.StatusUnauthorized {
		t.Errorf("the revoked key answers %d, want 401", status)
	}
	b.quiet(t)
}

// TestPickPet: somebody who types a part of a name is offered the pets that have it, and an order's page is found by its number.
func TestPickPet(t *testing.T) {
	t.Parallel()
	s, b := inConsole(t)
	b.open(t, s.url+"/console/orders/new")
	b.do(t, chromedp.SendKeys("#f-petId", "juno"))
	b.until(t, `document.querySelector("#l-petId option")?.value === "Juno, whippet #4"`)
	b.submit(t, "^/console/orders/new$")
	b.until(t, `document.querySelector("#h-petId")?.textContent.startsWith("Is it Juno, whippet #4?")`)
	b.inspect(t, "a choice of pets")
	b.do(t, chromedp.Evaluate[chromedp.Void](`document.querySelector("#f-petId").value = document.querySelector("#l-petId option").value; undefined`))
	b.submit(t, `^/console/orders/\\d+$`)
	number := ask(t, b, chromedp.Evaluate[string](`location.pathname.split("/").pop()`))
	b.until(t, `document.querySelector(".sheet tbody tr").textContent.startsWith("Placed") && document.querySelector(".sheet tbody time") !== null`)
	b.open(t, s.url+"/console/orders")
	b.do(t, chromedp.SendKeys("#f-number", number+"\n"))
	b.until(t, `location.pathname === "/console/orders/`+number+`"`)
	b.look(t, s.url+"/console/orders?petId=e")
	b.until(t, `document.querySelector("#l-petId option") !== null`)
	b.quiet(t, "422")
}

// TestConflict: who saves what somebody else has changed meanwhile sees both values, and decides.
func TestConflict(t *testing.T) {
	t.Parallel()
	s, b := inConsole(t)
	b.open(t, s.url+"/console/pets/4")
	s.call(s.key, "PATCH", "/inventory/4", `{"quantity":43}`)
	b.do(t, chromedp.Evaluate[chromedp.Void](`document.querySelector("#f-quantity").value = "50"; undefined`))
	b.do(t, chromedp.Click(`form[action$="/pets/4/stock"] button`))
	b.until(t, `document.querySelector(".now")?.textContent === "Now: 43. You entered: 50" && document.querySelector(".sheet h2").textContent === "Why is the stock 43?"`)
	b.inspect(t, "a conflict")
	b.do(t, chromedp.Click(`form[action$="/pets/4/stock"] button`))
	b.until(t, `document.querySelector(".sheet h2")?.textContent === "Why is the stock 50?" && document.querySelector(".sheet tbody").rows[1].textContent.includes("Stock set to 43")`)
	b.do(t, chromedp.SendKeys("#f-units", "-7"))
	b.until(t, `document.querySelector("output.sum").textContent === "50 − 7 = 43"`)
	b.do(t, chromedp.Click(`form[action$="/add"] button`))
	b.until(t, `document.querySelector(".sheet h2")?.textContent === "Why is the stock 43?"`)
	b.quiet(t, "422")
}

// TestOtherOrigin: a page of another origin may call the API with any header of its own, such as those of tracing.
func TestOtherOrigin(t *testing.T) {
	t.Parallel()
	s := serve(t)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", "text/html") }))
	t.Cleanup(other.Close)
	b := newTab(t)
	b.open(t, other.URL)
	call := fmt.Sprintf(`fetch(%q, {headers: {Authorization: %q, traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "X-Sent-By": "a page"}})
		.then((r) => r.status + " " + (r.headers.get("X-Request-Id") !== null), (e) => e.message)`, s.url+"/pets", "Bearer "+s.key)
	if got := ask(t, b, chromedp.Evaluate[string](call, chromedp.EvalAwaitPromise)); got != "200 true" {
		t.Errorf("a call of another origin ends with %q, want 200 and headers that it may read", got)
	}
	b.quiet(t, "favicon")
}
