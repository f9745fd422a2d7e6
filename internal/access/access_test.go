package access

import (
	"strings"
	"testing"
	"time"
)

func TestQuotaFor(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		plan   Plan
		agreed Quota
		want   Quota
		bad    string // a part of the error
	}{
		{plan: Free, want: Quota{60, 1000}},
		{plan: Pro, want: Quota{300, 10_000}},
		{plan: Business, want: Quota{1000, 100_000}},
		{plan: Enterprise, agreed: Quota{1, 1}, want: Quota{1, 1}},
		{plan: Enterprise, agreed: Quota{MaxQuota, MaxQuota}, want: Quota{MaxQuota, MaxQuota}},
		{plan: Enterprise, bad: "needs its requests per minute and per day"},
		{plan: Enterprise, agreed: Quota{PerMinute: 5}, bad: "needs its requests"},
		{plan: Enterprise, agreed: Quota{PerDay: 5}, bad: "needs its requests"},
		{plan: Enterprise, agreed: Quota{-1, 5}, bad: "needs its requests"},
		{plan: Enterprise, agreed: Quota{5, MaxQuota + 1}, bad: "needs its requests"},
		{plan: Free, agreed: Quota{60, 1000}, bad: "free plan are fixed"},
		{plan: Pro, agreed: Quota{PerDay: 1}, bad: "pro plan are fixed"},
		{plan: Business, agreed: Quota{PerMinute: -1}, bad: "business plan are fixed"},
		{plan: "gold", bad: `no plan "gold"`},
		{plan: "Free", bad: `no plan "Free"`},
		{plan: "", bad: `no plan ""`},
	} {
		got, err := QuotaFor(test.plan, test.agreed)
		if test.bad != "" {
			if err == nil || !strings.Contains(err.Error(), test.bad) || got != (Quota{}) {
				t.Errorf("QuotaFor(%q, %+v) = %+v, %v, want an error with %q", test.plan, test.agreed, got, err, test.bad)
			}
			continue
		}
		if err != nil || got != test.want {
			t.Errorf("QuotaFor(%q, %+v) = %+v, %v, want %+v", test.plan, test.agreed, got, err, test.want)
		}
	}
}

func TestCheckName(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, bad string }{
		{"a", ""},
		{"My shop, № 1 (test)", ""},
		{"日本", ""},
		{strings.Repeat("é", 100), ""},
		{strings.Repeat("é", 101), "at most 100"},
		{"", "at least 1"},
		{" \t\u3000", "blank"},
		{" a", "begin or end"},
		{"a\n", "begin or end"},
		{"a\u00a0", "begin or end"},
		{"a\tb", "control"},
		{"a\x00b", "control"},
		{"a\x7fb", "control"},
		{"a\u009fb", "control"},
		{"a\xffb", "UTF-8"},
		{"shop\u202egnp.exe", "U+202E"},
		{"shop\u2066x", "U+2066"},
		{"sh\u200bop", "U+200B"},
		{"sh\u00adop", "U+00AD"},
		{"a\u2028b", "U+2028"},
	} {
		_, err := CheckName(test.name)
		if (err == nil) != (test.bad == "") || err != nil && !strings.Contains(err.Error(), test.bad) {
			t.Errorf("CheckName(%q) = %v, want an error with %q", test.name, err, test.bad)
		}
	}
}

// TestCheckNameComposes: what looks the same is the same name.
func TestCheckNameComposes(t *testing.T) {
	t.Parallel()
	if got, err := CheckName("Cafe\u0301"); err != nil || got != "Caf\u00e9" {
		t.Errorf("CheckName = %+q, %v, want it composed", got, err)
	}
}

func TestPrintable(t *testing.T) {
	t.Parallel()
	for give, want := range map[string]string{"Caf\u00e9 \U0001f43e": "Caf\u00e9 \U0001f43e", "a\u202eb\tc\u009bd\u2069": `a\u202eb\u0009c\u009bd\u2069`} {
		if got := Printable(give); got != want {
			t.Errorf("Printable(%+q) = %+q, want %+q", give, got, want)
		}
	}
}

// TestCheckGrant: no key makes one that may do more, or lasts longer.
func TestCheckGrant(t *testing.T) {
	t.Parallel()
	end := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		maker  Key
		scopes Scopes
		end    time.Time
		bad    string
	}{
		{Key{Scopes: Read | Write}, Read | Write, time.Time{}, ""},
		{Key{Scopes: Read | Write}, Read, end, ""},
		{Key{Scopes: Read | Write, ExpiresAt: end}, Read, end, ""},
		{Key{Scopes: Read | Write, ExpiresAt: end}, Read, end.Add(-time.Second), ""},
		{Key{Scopes: Read | Write, ExpiresAt: end}, Read, end.Add(time.Millisecond), "longer"},
		{Key{Scopes: Read | Write, ExpiresAt: end}, Read, time.Time{}, "longer"},
		{Key{Scopes: Write}, Read | Write, end, "more scopes than the key that you use: write"},
		{Key{Scopes: Read | Write}, Manage, end, "more scopes than the key"},
	} {
		err := test.maker.CheckGrant(test.scopes, test.end)
		if (err == nil) != (test.bad == "") || err != nil && !strings.Contains(err.Error(), test.bad) {
			t.Errorf("a key with %s until %s, for %s until %s: %v, want %q", test.maker.Scopes, test.maker.ExpiresAt, test.scopes, test.end, err, test.bad)
		}
	}
}

func TestParseScopes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		in     string
		want   Scopes
		string string
	}{
		{"read", Read, "read"},
		{"write", Write, "write"},
		{"read,write", Read | Write, "read,write"},
		{"write, read", Read | Write, "read,write"},
		{"read,read", Read, "read"},
		{"manage,read", Read | Manage, "read,manage"},
	} {
		got, err := ParseScopes(test.in)
		if err != nil || got != test.want || got.String() != test.string {
			t.Errorf("ParseScopes(%q) = %v, %v, want %s", test.in, got, err, test.string)
		}
		if again, err := ParseScopes(got.String()); err != nil || again != got {
			t.Errorf("ParseScopes(%q) = %v, %v, want %v", got, again, err, got)
		}
	}
	for _, in := range []string{"", ",", "read,", "Read", "admin", "read;write", "read write"} {
		if got, err := ParseScopes(in); err == nil || got != 0 {
			t.Errorf("ParseScopes(%q) = %v, %v, want an error", in, got, err)
		}
	}
}

func TestKeyState(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000_000, 0)
	before, after := now.Add(-1), now.Add(1)
	for _, test := range []struct {
		what string
		key  Key
		want string
	}{
		{"plain", Key{}, "active"},
		{"to expire", Key{ExpiresAt: after}, "active"},
		{"at its expiry", Key{ExpiresAt: now}, "expired"},
		{"expired", Key{ExpiresAt: before}, "expired"},
		{"banned", Key{Ban: &Ban{From: before, Until: after}}, "banned"},
		{"at the ban's end", Key{Ban: &Ban{From: before, Until: now}}, "active"},
		{"banned and expired", Key{ExpiresAt: before, Ban: &Ban{Until: after}}, "expired"},
		{"revoked", Key{RevokedAt: before}, "revoked"},
		{"revoked, expired and banned", Key{RevokedAt: before, ExpiresAt: before, Ban: &Ban{Until: after}}, "revoked"},
	} {
		if got := test.key.State(now); got != test.want {
			t.Errorf("%s: State = %q, want %q", test.what, got, test.want)
		}
	}
}
