package browser

import (
	_ "embed"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

//go:embed inspect.js
var inspector string

// axe returns the program of axe-core.
func axe(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("axe-core is not installed: %v", err)
		}
		t.Skipf("SKIPPED: axe-core is not installed (npm ci in test/browser): %v", err)
	}
	return string(text)
}

var port = regexp.MustCompile(`:[0-9]+`)

// look opens a page and inspects it.
func (b *tab) look(t *testing.T, url string) {
	t.Helper()
	b.open(t, url)
	b.inspect(t, url)
}

// inspect looks at the page that is shown from a small phone to a desktop, at twice the size, and on paper: nothing is
// wider than the window. In one of four widths axe-core finds nothing, in either scheme; it takes most of the time, and what
// pages share it sees in all widths. With -every-width it looks in all four.
func (b *tab) inspect(t *testing.T, page string) {
	t.Helper()
	b.do(t, chromedp.Evaluate[chromedp.Void](axe(t)+inspector+"undefined"))
	n := crc32.ChecksumIEEE([]byte(port.ReplaceAllString(page, ""))) // the same width in each run
	for i, width := range []int64{390, 700, 1024, 1440} {
		b.window(t, width, 900)
		if i != int(n%4) && !*everyWidth {
			b.finds(t, fmt.Sprintf("%s, %d wide", page, width), "tables")
			continue
		}
		b.scheme(t, "dark")
		b.finds(t, fmt.Sprintf("%s, %d wide, dark", page, width), "colours")
		b.scheme(t, "light")
		b.finds(t, fmt.Sprintf("%s, %d wide, light", page, width), "tables", "rest", "colours")
	}
	for _, width := range []int64{1411, 1201, 720} { // the least for which the style has most room, and what a window of 1440 has at 200 %
		b.window(t, width, 450)
		b.finds(t, fmt.Sprintf("%s, %d wide", page, width), "tables")
	}
	b.window(t, 320, 450) // a small phone
	b.finds(t, page+", 320 wide")
	b.window(t, 720, 1000)
	b.media(t, "print")
	b.finds(t, page+" on paper", "paper")
	b.media(t, "")
	b.window(t, 1440, 900)
}

// finds fails for each fault of the page, as it is shown.
func (b *tab) finds(t *testing.T, page string, what ...string) {
	t.Helper()
	for _, f := range ask(t, b, chromedp.Evaluate[[]string](fmt.Sprintf(`inspect.faults("%s")`, strings.Join(what, `", "`)), chromedp.EvalAwaitPromise)) {
		t.Errorf("%s: %s", page, f)
	}
}
