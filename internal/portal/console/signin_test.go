package console

import (
	"net/url"
	"path"
	"strings"
	"testing"
)

// FuzzInside checks that nobody leaves the console by signing in: a browser reads the address as it reads any, with a
// backslash for a slash, without line ends and tabs, and with dots resolved.
func FuzzInside(f *testing.F) {
	for _, seed := range []string{
		"", "/console", "/console/pets?a=b#c", "//x/console/", "/\\x/console", "https://x/console", "javascript:alert(1)", "/console/../docs", "/console/%2e%2e/docs",
		"/\t/x/console/", "/console\\..\\..\\docs", "/console/;/..", "/console?//x", "console:/console/x", "/console/.%2E/x", " /console/", "%",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, next string) {
		got := inside(next)
		if again := inside(got); again != got {
			t.Errorf("inside(%q) = %q, and of that %q", next, got, again)
		}
		seen := strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(got)
		before, query, _ := strings.Cut(seen, "?")
		before, _, _ = strings.Cut(before, "#")
		before = strings.ReplaceAll(before, "\\", "/")
		if strings.HasPrefix(before, "//") || !strings.HasPrefix(before, "/") || strings.ContainsFunc(got, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
			t.Fatalf("inside(%q) = %q, which is no path, with %q", next, got, query)
		}
		dots, err := url.PathUnescape(before) // browsers take %2e for a dot
		if err != nil {
			dots = before
		}
		if end := path.Clean(dots); end != "/console" && !strings.HasPrefix(end, "/console/") {
			t.Errorf("inside(%q) = %q, which leads to %q", next, got, end)
		}
	})
}
