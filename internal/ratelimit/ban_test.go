package ratelimit

import (
	"math"
	"testing"
	"time"
)

// setBan makes a ban that of the store; nil lifts the one that it had.
func setBan(l *Limiter, c *Caller, b *Ban) {
	l.Caller(c, c.subject.workspace, c.id, c.subject.limits, b)
}

// hammer sends a request each 100 ms until one is answered by a ban, and returns that answer.
func hammer(t *testing.T, l *Limiter, c *Caller, clock *testClock) Decision {
	t.Helper()
	for range 10_000 {
		if d := l.Admit(c); d.Outcome == Banned {
			return d
		}
		clock.advance(100 * time.Millisecond)
	}
	t.Fatal("10,000 requests in 1,000 seconds and no ban")
	return Decision{}
}

var narrow = Limits{PerMinute: 1, PerDay: math.MaxInt64}

func TestTwentyStrikesBan(t *testing.T) {
	t.Parallel()
	onMemory(t, DefaultConfig(), func(t *testing.T, l *Limiter, clock *testClock) {
		c := l.Caller(nil, 1, "k", narrow, nil)
		l.Admit(c)
		for clock.Now().Sub(noon) <= 2*time.Second {
			if d := l.Admit(c); d.Outcome != RefusedMinute {
				t.Fatalf("refusal %v after the first = %+v, want one by the minute", clock.Now().Sub(noon), d)
			}
			clock.advance(100 * time.Millisecond)
		}
		for strike := range 19 {
			if d := l.Admit(c); d.Outcome != RefusedMinute || d.NewBan != nil {
				t.Fatalf("strike %d = %+v, want a refusal by the minute", strike+1, d)
			}
		}
		d := l.Admit(c)
		until := clock.Now().Add(2 * time.Minute)
		if d.Outcome != Banned || d.RetryAfter != 120 || d.BannedUntil != until.Unix()+1 {
			t.Errorf("strike 20 = %+v, want a ban of 120 s", d)
		}
		if h := d.Headline(); h.Limit != 1 || h.Remaining() != 0 || h.Reset != d.BannedUntil {
			t.Errorf("Headline() = %+v, want the minute's limit, 0 remaining, reset at the ban's end", h)
		}
		want := Ban{KeyID: "k", From: clock.Now(), Until: until, Level: 1, By: ByLimiter}
		if d.NewBan == nil {
			t.Fatal("NewBan = nil, want the ban")
		}
		want.Reason = d.NewBan.Reason
		if *d.NewBan != want || want.Reason == "" {
			t.Errorf("NewBan = %+v, want %+v with a reason", *d.NewBan, want)
		}
	})
}

func TestBansDoubleAndAreForgiven(t *testing.T) {
	t.Parallel()
	onMemory(t, DefaultConfig(), func(t *testing.T, l *Limiter, clock *testClock) {
		c := l.Caller(nil, 1, "k", narrow, nil)
		want := 2 * time.Minute
		for level := 1; level <= 14; level++ {
			d := hammer(t, l, c, clock)
			if got := d.NewBan.Until.Sub(d.NewBan.From); got != want || d.NewBan.Level != min(level, 11) {
				t.Errorf("ban %d = %v at level %d, want %v at level %d", level, got, d.NewBan.Level, want, min(level, 11))
			}
			want = min(2*want, 24*time.Hour)
			clock.set(d.NewBan.Until)
		}
		clock.advance(9*24*time.Hour + time.Hour)
		if d := hammer(t, l, c, clock); d.NewBan.Level != 3 {
			t.Errorf("after nine clean days = level %d, want 3: 11 - 9 + 1", d.NewBan.Level)
		} else {
			clock.set(d.NewBan.Until.Add(24*time.Hour - time.Minute))
		}
		if d := hammer(t, l, c, clock); d.NewBan.Level != 4 {
			t.Errorf("within a day of a ban = level %d, want 4", d.NewBan.Level)
		}
	})
}

// TestAnOperatorsBanHoldsForItsTime: wherever the clock stood meanwhile, the ban runs while it stands before the end.
func TestAnOperatorsBanHoldsForItsTime(t *testing.T) {
	t.Parallel()
	onMemory(t, DefaultConfig(), func(t *testing.T, l *Limiter, clock *testClock) {
		c, end := l.Caller(nil, 1, "k", narrow, nil), noon.Add(time.Hour)
		wants := func(at time.Time, want Outcome) {
			t.Helper()
			clock.set(at)
			until := int64(0)
			if want == Banned {
				until = end.Unix()
			}
			if d := l.Admit(c); d.Outcome != want || d.BannedUntil != until {
				t.Errorf("at %v = %+v, want %v until %d", at, d, want, until)
			}
			if d := l.Peek(c); (d.Outcome == Banned) != (want == Banned) || d.BannedUntil != until {
				t.Errorf("Peek at %v = %+v, want %v until %d", at, d, want, until)
			}
		}
		ban := &Ban{KeyID: "k", From: noon, Until: end, By: ByOperator}
		setBan(l, c, ban)
		wants(noon, Banned)
		wants(noon.Add(72*time.Minute), Admitted)
		wants(noon.Add(3*time.Second), Banned)
		wants(noon.Add(10*time.Minute), Banned)
		wants(noon.Add(-2*time.Hour), Banned)
		wants(end.Add(-time.Millisecond), Banned)
		wants(end.Add(time.Hour), Admitted)
		clock.set(noon)
		setBan(l, c, nil)
		if d := l.Peek(c); d.Outcome == Banned {
			t.Errorf("after the ban was lifted = %+v, want no ban", d)
		}
		late := l.Caller(nil, 1, "late", free, nil)
		setBan(l, late, &Ban{KeyID: "late", From: noon.Add(-2 * time.Hour), Until: noon.Add(-time.Hour), By: ByOperator})
		clock.set(noon.Add(-90 * time.Minute))
		if d := l.Admit(late); d.Outcome != Banned {
			t.Errorf("a ban that was over by a clock that was ahead = %+v, want banned", d)
		}
	})
}

// TestABanOfTheFutureBeginsNow: when the clock is set back, a ban of the limiter keeps its length.
func TestABanOfTheFutureBeginsNow(t *testing.T) {
	t.Parallel()
	onMemory(t, DefaultConfig(), func(t *testing.T, l *Limiter, clock *testClock) {
		c := l.Caller(nil, 1, "k", narrow, nil)
		hammer(t, l, c, clock)
		clock.set(noon.Add(-time.Hour))
		if d := l.Admit(c); d.Outcome != Banned || d.RetryAfter != 120 {
			t.Errorf("an hour before the ban began = %+v, want banned for 120 s", d)
		}
		clock.set(noon.Add(2*time.Minute - time.Hour))
		if d := l.Peek(c); d.Outcome == Banned {
			t.Errorf("two minutes later = %+v, want no ban", d)
		}
	})
}

// TestABanOfAnotherNodeKeepsTheGreaterLevel: only days without a ban lower it.
func TestABanOfAnotherNodeKeepsTheGreaterLevel(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ known, adopted, days, want int }{
		{4, 2, 0, 5}, {2, 4, 0, 5}, {4, 1, 2, 3}, {4, 0, 0, 5}, {4, 0, 2, 3},
	} {
		onMemory(t, DefaultConfig(), func(t *testing.T, l *Limiter, clock *testClock) {
			c := l.Caller(nil, 1, "k", narrow, nil)
			setBan(l, c, &Ban{KeyID: "k", From: noon.Add(-time.Hour), Until: noon, Level: test.known, By: ByLimiter})
			from := noon.AddDate(0, 0, test.days)
			until := from.Add(time.Minute)
			setBan(l, c, &Ban{KeyID: "k", From: from, Until: until, Level: test.adopted, By: ByLimiter})
			clock.set(until)
			if d := hammer(t, l, c, clock); d.NewBan.Level != test.want {
				t.Errorf("%+v: the next ban has level %d", test, d.NewBan.Level)
			}
		})
	}
}

func TestStrikesAWholeWindowApartAreNotWithinIt(t *testing.T) {
	t.Parallel()
	cfg := DefaultConfig()
	cfg.Strikes = 2
	for _, test := range []struct {
		gap  time.Duration
		want Outcome
	}{{time.Minute, RefusedDay}, {time.Minute - time.Microsecond, Banned}} {
		onMemory(t, cfg, func(t *testing.T, l *Limiter, clock *testClock) {
			c := l.Caller(nil, 1, "k", Limits{PerMinute: 100, PerDay: 1}, nil)
			manyRequests(l, c, clock, 2, 3*time.Second)
			l.Admit(c)
			clock.advance(test.gap)
			if d := l.Admit(c); d.Outcome != test.want {
				t.Errorf("second strike %v after the first = %v, want %v", test.gap, d.Outcome, test.want)
			}
		})
	}
}

func TestARepeatedOldBanDoesNotRaiseTheLevelAgain(t *testing.T) {
	t.Parallel()
	onMemory(t, DefaultConfig(), func(t *testing.T, l *Limiter, clock *testClock) {
		c := l.Caller(nil, 1, "k", narrow, nil)
		old := &Ban{KeyID: "k", From: noon.Add(-time.Hour), Until: noon, Level: 5, By: ByLimiter}
		setBan(l, c, old)
		clock.advance(3*24*time.Hour + time.Hour)
		if d := hammer(t, l, c, clock); d.NewBan.Level != 3 {
			t.Errorf("three days after a ban of level 5 = level %d, want 3", d.NewBan.Level)
		}
		setBan(l, c, nil)
		setBan(l, c, old)
		if d := hammer(t, l, c, clock); d.NewBan.Level != 4 {
			t.Errorf("after the old ban was repeated = level %d, want 4", d.NewBan.Level)
		}
	})
}
