package access

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// FuzzScopes checks that what is read is written so, and that nobody gets a scope that is not in the text.
func FuzzScopes(f *testing.F) {
	for _, seed := range []string{"", "read", "write,read", " read , write ", "read,", "READ", "read;write", "read,read", "admin", "read\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ParseScopes(text)
		if err != nil {
			if got != 0 {
				t.Errorf("ParseScopes(%q) = %v, %v, want none", text, got, err)
			}
			return
		}
		if again, err := ParseScopes(got.String()); err != nil || again != got || got == 0 {
			t.Errorf("ParseScopes(%q) = %q, which is read as %q, %v", text, got, again, err)
		}
		for _, name := range []string{"read", "write"} {
			if scope, _ := ParseScopes(name); got.Has(scope) != strings.Contains(text, name) {
				t.Errorf("ParseScopes(%q) = %q: %s is in the one and not in the other", text, got, name)
			}
		}
	})
}

// FuzzNames checks that a name that is taken can be shown in a line, and that an error shows one that cannot all the same.
func FuzzNames(f *testing.F) {
	for _, seed := range []string{"", "shop", " shop", "a\nb", strings.Repeat("é", 100), strings.Repeat("x", 101), "\u0085", "\u2028", "\xff", "\u200b", "\u202eshop", "a\u0000"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		kept, err := CheckName(name)
		if err != nil {
			if text := err.Error(); strings.ContainsFunc(text, unicode.IsControl) || !strings.HasPrefix(text, "the name") {
				t.Errorf("CheckName(%q): %q", name, text)
			}
			return
		}
		if again, err := CheckName(kept); err != nil || again != kept {
			t.Errorf("CheckName(%q) keeps %q, which it takes for %q, %v", name, kept, again, err)
		}
		name = kept
		if n := utf8.RuneCountInString(name); !utf8.ValidString(name) || n < 1 || n > MaxName || strings.TrimSpace(name) != name {
			t.Errorf("CheckName(%q) takes it", name)
		}
		if i := strings.IndexFunc(name, unseen); i >= 0 {
			t.Errorf("CheckName(%q) takes the control or format character at byte %d", name, i)
		}
	})
}
