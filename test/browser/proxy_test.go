package browser

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"

	"example.com/petstore/test/servertest"
)

// serveBelow starts the service behind a proxy that takes prefix off the path. Whatever does not begin with it is not
// there, and is counted as strayed.
func serveBelow(t *testing.T, prefix string) (s *site, strayed *atomic.Int64) {
	t.Helper()
	strayed = new(atomic.Int64)
	addr := servertest.FreeAddr(t)
	forward := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: "http", Host: addr})
	}}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, prefix+"/") {
			if r.URL.Path != "/favicon.ico" {
				strayed.Add(1)
				t.Logf("%s %s left the proxy's path", r.Method, r.URL)
			}
			w.WriteHeader(http.StatusNotFound)
			return
		}
		http.StripPrefix(prefix, forward).ServeHTTP(w, r)
	}))
	t.Cleanup(proxy.Close)
	return serve(t, "--addr="+addr, "--base-url="+proxy.URL+prefix), strayed
}

// TestBelowPrefix: the docs, Try it and the console work behind a proxy that takes the path of the base URL off.
func TestBelowPrefix(t *testing.T) {
	t.Parallel()
	s, strayed := serveBelow(t, "/shop")
	b := newTab(t)
	const styled = `getComputedStyle(document.querySelector("header.top")).position === "sticky"`
	b.open(t, s.url+"/docs/animals")
	b.until(t, styled)
	b.do(t, chromedp.Click("#listPets .try > summary"), chromedp.SendKeys("#listPets .try .key", s.key), chromedp.Click("#listPets .try button"))
	b.until(t, `document.querySelector("#listPets .outcome .status")?.textContent.startsWith("200")`)
	b.open(t, s.url+"/docs/search?q=order")
	b.until(t, `document.querySelector("main a[href^='/shop/docs/orders']") !== null`)
	b.open(t, s.url+"/console")
	b.until(t, `location.pathname === "/shop/console/signin" && document.querySelector("header a[href='/shop/docs']") !== null`)
	b.until(t, styled)

	// From a page within to the form and back, out again, and in by the link.
	b.open(t, s.url+"/console/categories/new")
	b.until(t, `location.pathname === "/shop/console/signin"`)
	b.do(t, chromedp.SendKeys("#key", s.key+"\n"))
	b.until(t, `location.pathname === "/shop/console/categories/new"`)
	b.do(t, chromedp.SendKeys("#f-name", "Insects"))
	b.submit(t, "^/shop/console/categories$")
	b.until(t, `document.querySelector("main table").textContent.includes("Insects") && document.querySelector(".note").textContent.includes("added")`)
	b.open(t, s.url+"/console")
	b.until(t, `document.querySelector(".live:not([hidden])") !== null`)
	b.do(t, chromedp.Click(`.nav a[href="/shop/console/requests"]`))
	b.until(t, `location.pathname === "/shop/console/requests" && document.querySelector(".live:not([hidden])") !== null`)
	b.do(t, chromedp.Click(".me button"))
	b.until(t, `location.pathname === "/shop/console/signin" && document.querySelector(".note").textContent.includes("signed out")`)
	b.open(t, s.signIn)
	b.submit(t, "^/shop/console$")
	if got := ask(t, b, chromedp.Evaluate[string](`fetch("/shop/openapi.json").then((r) => r.json()).then((d) => d.servers[0].url)`, chromedp.EvalAwaitPromise)); got != s.url {
		t.Errorf("the server of the description is %q, want %q", got, s.url)
	}
	if n := strayed.Load(); n > 0 {
		t.Errorf("%d requests left the path of the base URL", n)
	}
	b.quiet(t)
}
