package browser

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	browserlog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"example.com/petstore/test/servertest"
)

// chromium is the one browser of all tests. It starts with the first tab.
var chromium browser

// A browser is a Chromium whose tabs share nothing: each has cookies of its own.
type browser struct {
	once    sync.Once
	ctx     context.Context
	closers []context.CancelFunc
	err     error
}

func (c *browser) start(path string) {
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("force-prefers-reduced-motion", true)) // an animation has the browser draw sixty times a second
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	process, closeProcess := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, closeBrowser := chromedp.NewContext(process)
	c.ctx, c.closers = ctx, []context.CancelFunc{closeBrowser, closeProcess}
	c.err = chromedp.Do(ctx)
}

// end closes the browser, if it was started.
func (c *browser) end() {
	for _, closes := range c.closers {
		closes()
	}
}

// A tab is a page of the browser, and what it complained about.
type tab struct {
	ctx context.Context

	mu         sync.Mutex
	complaints []string
}

// newTab opens a tab until the test ends.
func newTab(t *testing.T) *tab {
	t.Helper()
	program := "chromium-headless-shell" // which takes two thirds of the processor time
	if _, err := exec.LookPath(program); err != nil {
		program = "chromium"
	}
	path := servertest.Need(t, program, "chromium-headless-shell")
	if chromium.once.Do(func() { chromium.start(path) }); chromium.err != nil {
		t.Fatalf("chromium: %v", chromium.err)
	}
	ctx, stop := context.WithTimeout(chromium.ctx, 20*time.Minute)
	ctx, closeTab := chromedp.NewContext(ctx, chromedp.WithNewBrowserContext())
	t.Cleanup(func() { closeTab(); stop() })
	b := &tab{ctx: ctx}
	b.do(t)
	must(t, chromedp.Listen(ctx, b.listen))
	b.window(t, 1440, 900)
	return b
}

func (b *tab) listen(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *browserlog.EventEntryAdded:
		b.complaints = append(b.complaints, e.Entry.Text+" "+e.Entry.URL)
	case *runtime.EventExceptionThrown:
		b.complaints = append(b.complaints, e.ExceptionDetails.Text)
	}
}

// quiet fails if the browser complained: of the policy, of the script or of a file that is not there. expected are parts
// of complaints that belong to the test.
func (b *tab) quiet(t *testing.T, expected ...string) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
next:
	for _, c := range b.complaints {
		for _, e := range expected {
			if strings.Contains(c, e) {
				continue next
			}
		}
		t.Errorf("the browser complained: %s", c)
	}
	b.complaints = nil
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

// until waits for the expression to hold on a page whose scripts have run, across navigations, and at most as long as a busy machine takes.
func (b *tab) until(t *testing.T, expression string) {
	t.Helper()
	b.poll(t, `(`+expression+`) ? [1] : []`)
}

// poll waits until an expression gives numbers, as until does.
func (b *tab) poll(t *testing.T, expression string) []float64 {
	t.Helper()
	expression = `document.readyState === "complete" ? ` + expression + ` : []`
	for deadline := time.Now().Add(servertest.Patience); ; {
		// While one page gives way to the next there is nothing to ask.
		if numbers, err := chromedp.Run(b.ctx, chromedp.Evaluate[[]float64](expression)); err == nil && len(numbers) > 0 {
			return numbers
		}
		if time.Now().After(deadline) {
			text, _ := chromedp.Run(b.ctx, chromedp.Evaluate[string](`location.href + "\n" + document.body.innerText`))
			t.Fatalf("waiting for %s; the page is %s", expression, text)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// comes waits for the expression to hold on a page that is live, which asks the server at once instead of after seconds.
func (b *tab) comes(t *testing.T, expression string) {
	t.Helper()
	b.until(t, `document.dispatchEvent(new Event("visibilitychange")) && (`+expression+`)`)
}

func (b *tab) open(t *testing.T, url string) {
	t.Helper()
	b.do(t, chromedp.Navigate(url))
}

func (b *tab) window(t *testing.T, width, height int64) {
	t.Helper()
	b.do(t, chromedp.EmulateViewport(width, height))
}

// scheme makes the system light or dark.
func (b *tab) scheme(t *testing.T, name string) {
	t.Helper()
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}}
	if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, media); err != nil {
		t.Fatal(err)
	}
}

// media has the page as on a medium such as paper ("print"), or on the screen ("").
func (b *tab) media(t *testing.T, name string) {
	t.Helper()
	if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: name}); err != nil {
		t.Fatal(err)
	}
}

// withoutScript has the browser refuse all scripts of pages, so that the test itself can still ask.
func (b *tab) withoutScript(t *testing.T) {
	t.Helper()
	block := network.SetBlockedURLsParams{URLPatterns: []*network.BlockPattern{{URLPattern: "*://*:*/*.js", Block: true}}}
	if _, err := chromedp.Call(b.ctx, network.SetBlockedURLs, block); err != nil {
		t.Fatal(err)
	}
}

// signIn signs in with a key and waits for the overview.
func (b *tab) signIn(t *testing.T, s *site, key string) {
	t.Helper()
	b.open(t, s.url+"/console/signin")
	b.do(t, chromedp.SendKeys("#key", key+"\n"))
	b.until(t, `location.pathname === "/console" && document.querySelector("h1")?.textContent === "Overview"`)
}

// inConsole starts the service, and opens a tab that is signed in to the console of the demo shop.
func inConsole(t *testing.T) (*site, *tab) {
	t.Helper()
	s, b := serve(t), newTab(t)
	b.signIn(t, s, s.key)
	return s, b
}

// submit sends the form of the page and waits until it leads on to an address, or stays.
func (b *tab) submit(t *testing.T, leadsTo string) {
	t.Helper()
	b.do(t, chromedp.Evaluate[chromedp.Void](`window.before = true; undefined`), chromedp.Click(`main form[method="post"] button[type="submit"]`))
	b.until(t, `window.before === undefined && new RegExp("`+leadsTo+`").test(location.pathname)`)
}
