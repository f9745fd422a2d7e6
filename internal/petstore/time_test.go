package petstore

import (
	"regexp"
	"testing"
	"time"
)

func TestParseTime(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ in, want string }{
		{"2026-03-04T05:06:07Z", "2026-03-04T05:06:07Z"},
		{"2026-03-04t05:06:07z", "2026-03-04T05:06:07Z"},
		{"2026-03-04T05:06:07.1Z", "2026-03-04T05:06:07.1Z"},
		{"2026-03-04T05:06:07.120Z", "2026-03-04T05:06:07.12Z"},
		{"2026-03-04T05:06:07.123999999999Z", "2026-03-04T05:06:07.123Z"},
		{"2026-03-04T05:06:07.000Z", "2026-03-04T05:06:07Z"},
		{"2026-03-04T05:06:07+02:30", "2026-03-04T02:36:07Z"},
		{"2026-03-04T05:06:07-00:00", "2026-03-04T05:06:07Z"},
		{"2026-03-04T00:00:00+23:59", "2026-03-03T00:01:00Z"},
		{"2024-02-29T00:00:00Z", "2024-02-29T00:00:00Z"},
		{"1969-12-31T23:59:59.9996Z", "1969-12-31T23:59:59.999Z"},
		{"1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z"},
		{"0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"},
		{"9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"},
	} {
		got, ok := ParseTime(test.in)
		if !ok || got.String() != test.want {
			t.Errorf("ParseTime(%q) = %q, %t, want %q", test.in, got, ok, test.want)
		}
	}
}

func TestParseTimeRefuses(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		"", "now", "2026-03-04", "2026-03-04T05:06:07", "2026-03-04 05:06:07Z", "2026-03-04T05:06Z",
		"2026-03-04T5:06:07Z", "2026-3-4T05:06:07Z", "26-03-04T05:06:07Z",
		"2026-03-04T05:06:07,5Z", "2026-03-04T05:06:07.Z",
		"2026-03-04T05:06:07+0200", "2026-03-04T05:06:07+02", "2026-03-04T05:06:07+24:00", "2026-03-04T05:06:07+02:60",
		"2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z", "2026-04-31T00:00:00Z",
		"2026-03-04T24:00:00Z", "2026-03-04T05:60:00Z", "1990-12-31T23:59:60Z",
		"0001-01-01T00:00:00+00:01", "0000-12-31T23:59:59Z", "9999-12-31T23:59:59-00:01", "12026-03-04T05:06:07Z", "-026-03-04T05:06:07Z",
		" 2026-03-04T05:06:07Z", "2026-03-04T05:06:07Z ", "2026-03-04T05:06:07ZZ", "２026-03-04T05:06:07Z", "\x00",
	} {
		if got, ok := ParseTime(in); ok || got != (Time{}) {
			t.Errorf("ParseTime(%q) = %q, %t, want a refusal", in, got, ok)
		}
	}
}

func TestAtCutsToTheMillisecond(t *testing.T) {
	t.Parallel()
	got := At(time.Date(2026, 1, 2, 3, 4, 5, 678_999_999, time.FixedZone("", 3600)))
	if want := "2026-01-02T02:04:05.678Z"; got.String() != want {
		t.Errorf("At = %q, want %q", got, want)
	}
}

// canonicalTime is the one form in which instants are written.
var canonicalTime = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{0,2}[1-9])?Z$`)

func FuzzParseTime(f *testing.F) {
	for _, seed := range []string{
		"2026-03-04T05:06:07.891+01:00", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z",
		"1969-12-31t23:59:59.0001z", "2026-03-04T5:06:07,1Z", "2026-03-04T05:06:07+99:99",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		parsed, ok := ParseTime(in)
		if !ok {
			return
		}
		out := parsed.String()
		if !canonicalTime.MatchString(out) {
			t.Errorf("ParseTime(%q) is written %q, want the canonical form", in, out)
		}
		if again, ok := ParseTime(out); !ok || again != parsed {
			t.Errorf("ParseTime(%q) = %v, %t, want %v", out, again, ok, parsed)
		}
	})
}
