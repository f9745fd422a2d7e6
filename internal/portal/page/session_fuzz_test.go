package page

import (
	"crypto/rand"
	"testing"
	"time"
)

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
	})
}
