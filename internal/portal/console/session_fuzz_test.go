package console

import (
	"crypto/rand"
	"net/url"
	"path"
	"strings"
	"testing"
	"time"
)

// FuzzInside checks that nobody leaves the console by signing in: a browser reads the address as it reads any, with a
// backslash for a slash, without line ends and tabs, and with dots resolved.
func FuzzInside(f *testing.F) {
	for _, seed := range []string{
		"", "/console", "/console/pets?a=b#c", "//x/console/", "/\\x/console", "https://x/console", "javascript:alert(1)", "/console/../docs", "/console/%2e%2e/docs",
		"/\t/x/console/", "/console\\..\\..\\docs", "/console/;/..", "/console?//x", "console:/console/x", "/console/.%2E/x", " /console/",
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

// FuzzSealed checks that what is sealed opens for its purpose, until its instant, and that no other text does.
func FuzzSealed(f *testing.F) {
	s, err := newSealer([]byte(rand.Text())) // so that what an input has of another run opens nothing
	if err != nil {
		f.Fatal(err)
	}
	f.Add("link", "key_1", int64(1_772_366_400), "AAAA")
	f.Add("", "", int64(-1), "")
	f.Add("petstore_session", "x\x00", int64(1)<<40, s.seal("link", time.Unix(1<<40, 0), "x"))
	f.Fuzz(func(t *testing.T, purpose, content string, ends int64, text string) {
		until := time.Unix(ends%(1<<40), 0)
		sealed := s.seal(purpose, until, content)
		for now, want := range map[time.Time]bool{until.Add(-time.Nanosecond): true, until: false} {
			if got, end, ok := s.open(purpose, sealed, now); ok != want || got != content || !end.Equal(until) {
				t.Errorf("at %v open(%q) = %q, %v, %t, want %q until %v: %t", now, sealed, got, end, ok, content, until, want)
			}
		}
		if _, _, ok := s.open(purpose+"x", sealed, until.Add(-time.Second)); ok {
			t.Errorf("what is sealed for %q opens for another purpose", purpose)
		}
		if _, _, ok := s.open(purpose, text, time.Time{}); ok {
			t.Errorf("open(%q, %q): open, but nobody sealed it", purpose, text)
		}
		first, link, _ := s.linkOf(purpose, sealed, until.Add(-time.Second))
		if first != content || !link.Until.Equal(until) {
			t.Errorf("linkOf(%q) = %q, %+v", sealed, first, link)
		}
	})
}
