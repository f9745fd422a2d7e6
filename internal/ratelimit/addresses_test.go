package ratelimit

import (
	"net/netip"
	"testing"
	"time"
)

func TestWhatCountsAsOneAddress(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		a, b string
		same bool
	}{
		{"192.0.2.7", "192.0.2.7", true},
		{"192.0.2.7", "192.0.2.8", false},
		{"192.0.2.7", "::ffff:192.0.2.7", true},
		{"2001:db8:0:1::1", "2001:db8:0:1:ffff:ffff:ffff:ffff", true},
		{"2001:db8:0:1::1", "2001:db8:0:2::1", false},
		{"fe80::1%eth0", "fe80::2%eth1", true},
		{"::", "0.0.0.0", false},
		{"::1", "::2", true},
	} {
		if got := bucketOf(netip.MustParseAddr(test.a)) == bucketOf(netip.MustParseAddr(test.b)); got != test.same {
			t.Errorf("%s and %s are counted as one: %v, want %v", test.a, test.b, got, test.same)
		}
	}
}

func TestAddressesAreLimitedApart(t *testing.T) {
	t.Parallel()
	onEach(t, DefaultConfig(), func(t *testing.T, l *Limiter, clock *testClock) {
		a, b := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
		for range 60 {
			l.AdmitAddress(a)
		}
		want := Decision{
			Outcome:    RefusedMinute,
			Minute:     Window{Limit: 60, Used: 60, Reset: noon.Unix() + 60},
			Day:        Window{Limit: 1000, Used: 60, Reset: noon.Unix() + 43_200},
			RetryAfter: 60,
		}
		if got := l.PeekAddress(a); !got.Admitted() || got.Minute != want.Minute || got.Day != want.Day {
			t.Errorf("PeekAddress of a full one = %+v, want %+v", got, want)
		}
		if got := l.AdmitAddress(a); got != want {
			t.Errorf("AdmitAddress of a full one = %+v, want %+v", got, want)
		}
		if got := l.AdmitAddress(b); !got.Admitted() || got.Minute.Used != 1 {
			t.Errorf("another address = %+v, want admitted as its first", got)
		}
		for range 200 {
			if d := l.AdmitAddress(a); d.Outcome != RefusedMinute {
				t.Fatalf("a hammering address = %+v, want refused by the minute and never banned", d)
			}
			clock.advance(250 * time.Millisecond)
		}
	})
}

func smallTable() Config {
	cfg := DefaultConfig()
	cfg.Addresses = 3
	cfg.AddressLimits = Limits{PerMinute: 2, PerDay: 4}
	return cfg
}

func TestAFullTableSharesOneBucket(t *testing.T) {
	t.Parallel()
	onMemory(t, smallTable(), func(t *testing.T, l *Limiter, clock *testClock) {
		for i := range 3 {
			if d := l.AdmitAddress(numbered(i)); !d.Admitted() || d.Minute.Used != 1 {
				t.Errorf("address %d = %+v, want admitted as its first", i, d)
			}
		}
		for i, want := range []Outcome{Admitted, Admitted, RefusedMinute, RefusedMinute} {
			a := numbered(100 + i)
			if d := l.PeekAddress(a); d.Minute.Used != int64(min(i, 2)) {
				t.Errorf("PeekAddress of unseen address %d = %+v, want %d used", i, d, min(i, 2))
			}
			if d := l.AdmitAddress(a); d.Outcome != want {
				t.Errorf("unseen address %d = %v, want %v", i, d.Outcome, want)
			}
		}
		if d := l.AdmitAddress(netip.Addr{}); d.Outcome != RefusedMinute {
			t.Errorf("an invalid address = %v, want minute, with the others", d.Outcome)
		}
		if s := l.Stats(); s.Addresses != 3 {
			t.Errorf("Stats = %+v, want a full table", s)
		}
		clock.advance(2 * time.Minute)
		if d := l.AdmitAddress(numbered(0)); !d.Admitted() || d.Day.Used != 2 {
			t.Errorf("a counted address after its minute = %+v, want its second of the day", d)
		}
		if d := l.AdmitAddress(numbered(200)); d.Day.Used != 3 {
			t.Errorf("an unseen address after a minute = %+v, want the third of those without a place", d)
		}
		clock.advance(12 * time.Hour)
		for i := range 3 {
			if d := l.AdmitAddress(numbered(300 + i)); d.Day.Used != 1 {
				t.Errorf("new address %d on the next day = %+v, want a place of its own", i, d)
			}
		}
		if d := l.AdmitAddress(numbered(0)); d.Day.Used != 1 {
			t.Errorf("an old address on the next day = %+v, want the first of those without a place", d)
		}
	})
}

func TestPlacesOfAWrongFutureAreGivenBack(t *testing.T) {
	t.Parallel()
	onMemory(t, smallTable(), func(t *testing.T, l *Limiter, clock *testClock) {
		clock.advance(30 * 24 * time.Hour)
		for i := range 4 {
			l.AdmitAddress(numbered(i))
		}
		clock.set(noon)
		if d := l.AdmitAddress(numbered(5)); d.Day.Used != 2 {
			t.Errorf("an unseen address = %+v, want the second of those without a place", d)
		}
		clock.advance(24 * time.Hour)
		for i := range 3 {
			if d := l.AdmitAddress(numbered(6 + i)); d.Day.Used != 1 {
				t.Errorf("new address %d on the next day = %+v, want a place of its own", i, d)
			}
		}
	})
}

func TestAPlaceThatIsKeptIsSaved(t *testing.T) {
	t.Parallel()
	clock := newClock(noon)
	m := New(smallTable(), clock.Now)
	for i := range 3 {
		m.AdmitAddress(numbered(i))
	}
	clock.advance(24 * time.Hour)
	m.AdmitAddress(numbered(2))
	m.AdmitAddress(numbered(3)) // 0 and 1 give back their places
	store := newTable()
	if err := m.Save(t.Context(), store); err != nil || len(store.windows) != 2 {
		t.Errorf("saved %v, %v, want the two that count today", store.windows, err)
	}
	clear(store.windows)
	m.AdmitAddress(numbered(2))
	if err := m.Save(t.Context(), store); err != nil || len(store.windows) != 1 || store.windows["a:2001:db8:0:2::/64"].DayUsed != 2 {
		t.Errorf("saved %v, %v, want one with 2 used", store.windows, err)
	}
}
