package browser

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"
)

// slowly returns the service behind a link that holds back what is answered to orders until release is called, and how many came.
func (s *site) slowly() (slow site, orders *atomic.Int64, release func()) {
	s.t.Helper()
	to, err := url.Parse(s.url)
	must(s.t, err)
	orders = new(atomic.Int64)
	held := make(chan struct{})
	link := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) },
		ModifyResponse: func(r *http.Response) error {
			if r.Request.Method == http.MethodPost && r.Request.URL.Path == "/console/orders/new" {
				orders.Add(1)
				select {
				case <-held:
				case <-r.Request.Context().Done():
				}
			}
			return nil
		},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) {}, // of what the browser gave up
	})
	s.t.Cleanup(link.Close)
	release = sync.OnceFunc(func() { close(held) })
	s.t.Cleanup(release)
	slow = *s
	slow.url = link.URL
	return slow, orders, release
}

// TestDoubleClick: a double click on a slow link places one order, and the button says that it is at work.
func TestDoubleClick(t *testing.T) {
	t.Parallel()
	s := serve(t)
	slow, orders, release := s.slowly()
	b := newTab(t)
	key := s.newKey("shop", 1000, 10_000)
	s.call(key, "POST", "/categories", `{"name":"Dogs"}`)
	s.call(key, "POST", "/pets", `{"name":"Rex","categoryId":1}`)
	s.call(key, "PATCH", "/inventory/1", `{"quantity":9}`)
	b.signIn(t, &slow, key)
	b.open(t, slow.url+"/console/orders/new?petId=1")
	at := b.place(t, "main form .button[type=submit]")
	b.do(t, chromedp.Evaluate[chromedp.Void](`(() => { // while the answer is held back, the page cannot be asked
		const button = document.querySelector("main form .button[type=submit]");
		new MutationObserver(() => { sessionStorage.said = button.textContent; }).observe(button, { childList: true });
	})()`))
	b.do(t, chromedp.MouseClickXY(at[0], at[1]))
	s.until(func() bool { return orders.Load() > 0 }) // nobody's second click is quicker
	b.do(t, chromedp.MouseClickXY(at[0], at[1], chromedp.ClickCount(2)))
	release()
	b.until(t, titled("Order ")+` && sessionStorage.said === "Working…"`)
	if status, placed := s.send(key, "GET", "/store/orders", ""); strings.Count(placed, `"petId"`) != 1 {
		t.Errorf("a double click placed these orders, want one: %d %s", status, placed)
	}
	b.quiet(t)
}
