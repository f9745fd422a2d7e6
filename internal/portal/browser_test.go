package portal

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	browserlog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// A tab is a page of a real browser, and what it complained about.
type tab struct {
	ctx context.Context

	mu         sync.Mutex
	complaints []string
}

// newTab opens a tab, or skips the test where there is no browser.
func newTab(t *testing.T) *tab {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if errors.Is(err, exec.ErrNotFound) {
		if os.Getenv("CI") == "true" {
			t.Fatal("chromium is not installed")
		}
		t.Skip("chromium is not installed")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true))
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	ctx, closeBrowser := chromedp.NewExecAllocator(ctx, options...)
	ctx, closeTab := chromedp.NewContext(ctx)
	t.Cleanup(func() { closeTab(); closeBrowser(); stop() })
	b := &tab{ctx: ctx}
	b.do(t)
	if err := chromedp.Listen(ctx, b.listen); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *tab) listen(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *browserlog.EventEntryAdded:
		b.complaints = append(b.complaints, e.Entry.Text)
	case *runtime.EventExceptionThrown:
		b.complaints = append(b.complaints, e.ExceptionDetails.Text)
	}
}

func (b *tab) do(t *testing.T, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		t.Fatalf("browser: %v", err)
	}
}

// ask returns what the action finds on the page.
func ask[T any](t *testing.T, b *tab, a chromedp.Action[T]) T {
	t.Helper()
	answer, err := chromedp.Run(b.ctx, a)
	if err != nil {
		t.Fatalf("browser: %v", err)
	}
	return answer
}

// until waits for the expression to hold, across navigations, and at most until the tab's time is over.
func (b *tab) until(t *testing.T, expression string) {
	t.Helper()
	for {
		// While one page gives way to the next there is nothing to ask.
		if ok, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](expression)); err == nil && ok {
			return
		}
		if err := b.ctx.Err(); err != nil {
			t.Fatalf("waiting for %s: %v", expression, err)
		}
	}
}

// quiet fails if the browser complained: of the policy, of the script or of a file that is not there.
func (b *tab) quiet(t *testing.T) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.complaints) > 0 {
		t.Errorf("the browser complained: %s", strings.Join(b.complaints, "\n"))
	}
}

// shop serves the reference, and answers every other request as the service would answer a list of one.
func shop(t *testing.T) (address string, seen func() []*http.Request) {
	t.Helper()
	docs := newReference(t)
	var mu sync.Mutex
	var list []*http.Request
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/docs") {
			docs.ServeHTTP(w, r)
			return
		}
		if strings.HasPrefix(r.URL.Path, "/console") { // nobody is signed in
			_, _ = w.Write([]byte("{}"))
			return
		}
		mu.Lock()
		defer mu.Unlock()
		list = append(list, r)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-RateLimit-Remaining", "59")
		w.Header().Set("Link", "</pets?"+strings.Repeat("a-long-address-", 20)+`>; rel="next"`)
		_, _ = w.Write([]byte(`[{"id":42,"name":"<script>alert(1)</script>"}]`))
	}))
	t.Cleanup(server.Close)
	return server.URL, func() []*http.Request {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(list)
	}
}

func TestBrowserRendersEveryPage(t *testing.T) {
	t.Parallel()
	b := newTab(t)
	address, _ := shop(t)
	const openAll = `document.querySelectorAll("details").forEach((d) => { d.open = true; }); document.documentElement.scrollWidth - innerWidth`
	for _, width := range []int64{390, 1440} {
		b.do(t, chromedp.EmulateViewport(width, 900))
		for path := range siteOf(t, newReference(t)).pages {
			b.do(t, chromedp.Navigate(address+path))
			if over := ask(t, b, chromedp.Evaluate[int](openAll)); over > 0 {
				t.Errorf("%s is %d pixels wider than a window of %d", path, over, width)
			}
		}
	}
	b.quiet(t)
}

func TestBrowserTriesAnOperation(t *testing.T) {
	t.Parallel()
	b := newTab(t)
	address, seen := shop(t)
	b.do(t, chromedp.Navigate(address+"/docs/animals#listPets"),
		chromedp.Click("#listPets .try > summary"),
		chromedp.SendKeys("#listPets .try .key", "pst_reader"),
		chromedp.SendKeys(`#listPets .try [data-name="status"]`, "available, sold"),
		chromedp.Click("#listPets .try button"),
		chromedp.WaitVisible("#listPets .outcome"))
	status := ask(t, b, chromedp.Text("#listPets .outcome .status"))
	text := ask(t, b, chromedp.Text("#listPets .outcome .text"))
	scripts := ask(t, b, chromedp.Evaluate[int](`document.querySelectorAll(".outcome script").length`))
	over := ask(t, b, chromedp.Evaluate[int](`(({scrollWidth, clientWidth}) => scrollWidth - clientWidth)(document.querySelector("#listPets .stick"))`))
	if over > 0 {
		t.Errorf("a long header in the answer makes the column %d pixels too wide", over)
	}
	requests := seen()
	if len(requests) != 1 {
		t.Fatalf("the form sent %d requests, want 1", len(requests))
	}
	r := requests[0]
	if r.Method != "GET" || r.URL.RequestURI() != "/pets?status=available&status=sold" || r.Header.Get("Authorization") != "Bearer pst_reader" {
		t.Errorf("the form sent %s %s with %q", r.Method, r.URL.RequestURI(), r.Header.Get("Authorization"))
	}
	if status != "200 OK" || !strings.Contains(text, `"name": "<script>alert(1)</script>"`) || scripts != 0 {
		t.Errorf("the page shows %q and %q with %d scripts", status, text, scripts)
	}
	b.quiet(t)
}

func TestBrowserSearchesAndRemembers(t *testing.T) {
	t.Parallel()
	b := newTab(t)
	address, _ := shop(t)
	b.do(t, chromedp.Navigate(address+"/docs"), chromedp.SendKeys("#search", "cancel order"))
	b.until(t, `document.getElementById("results").getAttribute("aria-busy") === "false" && document.querySelector("#result-0 a").textContent.includes("Cancel")`)
	first := ask(t, b, chromedp.Text("#result-0 a"))
	b.do(t, chromedp.SendKeys("#search", "\n"))
	b.until(t, `location.hash === "#cancelOrder" && document.readyState === "complete"`)
	where := ask(t, b, chromedp.Location())
	if !strings.Contains(first, "Cancel an order") || !strings.HasSuffix(where, "/docs/orders#cancelOrder") {
		t.Errorf("search found %q and led to %s", first, where)
	}
	before := ask(t, b, chromedp.Evaluate[string](`getComputedStyle(document.body).backgroundColor`))
	b.do(t, chromedp.Click(".theme"), chromedp.Click(`label[for="cancelOrder-go"]`), chromedp.Navigate(address+"/docs/inventory"))
	after := ask(t, b, chromedp.Evaluate[string](`getComputedStyle(document.body).backgroundColor`))
	language := ask(t, b, chromedp.Evaluate[string](`document.querySelector(".tabs input:checked").value`))
	if before == after || language != "go" {
		t.Errorf("the next page is %s, as before the change, in %s; want another colour, and go", after, language)
	}
	b.quiet(t)
}

// openWithoutScript loads a page as a browser without scripts does. What is asked of it later needs them.
func (b *tab) openWithoutScript(t *testing.T, address string) {
	t.Helper()
	script := func(off bool) {
		t.Helper()
		if _, err := chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: off}); err != nil {
			t.Fatal(err)
		}
	}
	script(true)
	b.do(t, chromedp.Navigate(address))
	script(false)
}

func TestBrowserWithoutScript(t *testing.T) {
	t.Parallel()
	b := newTab(t)
	address, _ := shop(t)
	b.openWithoutScript(t, address+"/docs/orders")
	b.do(t, chromedp.Click(`label[for="createOrder-go"]`))
	code := ask(t, b, chromedp.Text(`#createOrder [data-lang="go"]`))
	shown := ask(t, b, chromedp.Evaluate[int](`[...document.querySelectorAll(".try, .theme, .copy")].filter((e) => e.offsetParent !== null).length`))
	if !strings.Contains(code, "http.NewRequest") || shown != 0 {
		t.Errorf("without script the Go tab shows %q, and %d things that need script are visible", code, shown)
	}
}
