package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// slow makes every answer take two seconds more. The command that takes its place in the protocol leaves out the loading of pages.
func (b *tab) slow(t *testing.T) {
	t.Helper()
	if _, err := chromedp.Call(b.ctx, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	link := network.OverrideNetworkStateParams{Latency: 2000, DownloadThroughput: -1, UploadThroughput: -1}
	emulate := cdp.Command[network.OverrideNetworkStateParams, cdp.Empty]{Method: "Network.emulateNetworkConditions"}
	if _, err := chromedp.Call(b.ctx, emulate, link); err != nil {
		t.Fatal(err)
	}
}

// TestDoubleClick: a double click on a slow link places one order. With the script the button says that it is at work.
func TestDoubleClick(t *testing.T) {
	t.Parallel()
	s := serve(t)
	for name, scripted := range map[string]bool{"with the script": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newTab(t)
			if !scripted {
				b.withoutScript(t)
			}
			key := s.newKey("shop "+name, 1000, 10_000)
			s.call(key, "POST", "/categories", `{"name":"Dogs"}`)
			s.call(key, "POST", "/pets", `{"name":"Rex","categoryId":1}`)
			s.call(key, "PATCH", "/inventory/1", `{"quantity":9}`)
			b.signIn(t, s, key)
			b.open(t, s.url+"/console/orders/new?petId=1")
			b.slow(t)
			at := b.place(t, "main form .button[type=submit]")
			b.do(t, chromedp.MouseClickXY(at[0], at[1]), chromedp.MouseClickXY(at[0], at[1], chromedp.ClickCount(2)))
			if scripted {
				b.until(t, `document.querySelector("main form .button[type=submit]").textContent === "Working…"`)
			}
			b.until(t, titled("Order 1"))
			if status, orders := s.send(key, "GET", "/store/orders", ""); strings.Count(orders, `"petId"`) != 1 {
				t.Errorf("a double click placed these orders, want one: %d %s", status, orders)
			}
			b.quiet(t, ".js") // which is blocked without the script
		})
	}
}
