package storetest

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/ratelimit"
	"example.com/petstore/internal/usage"
)

var limitTests = map[string]func(*tenant){"round trip": testLimits, "old days": testOldDays, "key uses": testKeyUses}

func (s *tenant) saveWindows(rows ...ratelimit.SavedWindow) {
	s.Helper()
	must(s, s.SaveLimits(s.ctx, rows))
}

func (s *tenant) wantLimits(what string, want []ratelimit.SavedWindow) {
	s.Helper()
	got, err := s.LoadLimits(s.ctx)
	slices.SortFunc(got, func(a, b ratelimit.SavedWindow) int { return cmp.Compare(a.Subject, b.Subject) })
	same(s, "LoadLimits "+what, want)(got, err)
}

func testLimits(s *tenant) {
	s.wantLimits("at first", nil)
	windows := []ratelimit.SavedWindow{
		{Subject: "a:*", MinuteStart: 1, MinuteUsed: 2, Day: 20500, DayUsed: 4},
		{Subject: "a:2001:db8:0:1::/64", MinuteStart: 5, MinuteUsed: 6, Day: 20500, DayUsed: 8},
		{Subject: "w:12", MinuteStart: 1 << 50, MinuteUsed: 1 << 40, Day: 20500, DayUsed: 1 << 41},
	}
	for i := range int64(500) { // more than one transaction saves
		windows = append(windows, ratelimit.SavedWindow{Subject: fmt.Sprintf("w:2%03d", i), Day: 20500, DayUsed: i})
	}
	s.saveWindows(windows...)
	s.wantLimits("after saving", windows)
	windows[2].DayUsed++
	s.saveWindows(windows[2:]...)
	s.saveWindows()
	s.wantLimits("after replacing", windows)
	// The most that any node saw of a window holds, whoever saves last.
	w := &windows[2]
	s.saveWindows(ratelimit.SavedWindow{Subject: w.Subject, MinuteStart: w.MinuteStart, MinuteUsed: 8, Day: w.Day, DayUsed: w.DayUsed + 1})
	w.DayUsed++
	s.wantLimits("after less was saved", windows)
	*w = ratelimit.SavedWindow{Subject: w.Subject, MinuteStart: w.MinuteStart + 60, MinuteUsed: 1, Day: w.Day + 1, DayUsed: 2}
	s.saveWindows(*w)
	s.wantLimits("after the next windows were saved", windows)
}

// testKeyUses: what a key did today is told, and when it was used last. Those whose workspaces used most of their quota are the busiest.
func testKeyUses(s *tenant) {
	big := s.beside("big")
	must(s, big.setPlan(access.Enterprise, access.Quota{PerMinute: 10, PerDay: 100 * access.FreeQuota.PerDay}))
	keys := []access.Key{s.key("0", time.Time{}), big.key("1", time.Time{})}
	for i := range 4 {
		keys = append(keys, s.key(fmt.Sprint(i+2), time.Time{}))
	}
	today, now := start.Unix()/86400, start.UnixMilli()
	row := func(i int, day, admitted, refused, last int64) {
		s.Helper()
		r := usage.Row{Workspace: keys[i].WorkspaceID, Interval: usage.Day, Key: keys[i].ID, Start: day * 86400, LastUsed: last}
		r.Requests[usage.Success], r.Requests[usage.Limited] = admitted, refused
		must(s, s.AddUsage(s.ctx, []usage.Row{r}))
	}
	use := func(i int, admitted, refused, last int64) access.Use {
		return access.Use{KeyID: keys[i].ID, Admitted: admitted, Refused: refused, LastUsed: time.UnixMilli(last).UTC()}
	}
	row(0, today-1, 50, 5, now-2000)
	row(0, today, 2, 1, now-1000)
	row(0, today-1, 4, 2, now-700) // of a node that saves late, after midnight
	row(0, today, 4, 0, now)
	row(1, today, 30, 0, now)
	row(2, today-1, 7, 7, now-3000)
	row(3, today, 9, 0, now)
	row(5, today, 900, 0, now)
	must(s, s.revoke(keys[5].ID, start))
	of := func(w int64) string { return fmt.Sprint("w:", w) }
	s.saveWindows(
		ratelimit.SavedWindow{Subject: of(s.workspace), Day: today, DayUsed: 900}, ratelimit.SavedWindow{Subject: of(big.workspace), Day: today, DayUsed: 901},
		ratelimit.SavedWindow{Subject: of(s.beside("idle").workspace), Day: today - 1, DayUsed: 1000}, ratelimit.SavedWindow{Subject: "a:*", Day: today, DayUsed: 1000})
	want := map[string]access.Use{
		keys[0].ID: use(0, 6, 1, now), keys[1].ID: use(1, 30, 0, now), keys[2].ID: use(2, 0, 0, now-3000),
		keys[3].ID: use(3, 9, 0, now), keys[5].ID: use(5, 900, 0, now),
	}
	many := slices.Repeat([]access.Key{s.mint(time.Time{})}, 1000)
	same(s, "KeyUses", want)(s.KeyUses(s.ctx, append(many, keys...)))
	same(s, "KeyUses of no keys", map[string]access.Use{})(s.KeyUses(s.ctx, nil))
	busy := []access.Use{use(3, 9, 0, now), use(0, 6, 1, now), use(1, 30, 0, now)}
	for limit := range 4 {
		same(s, "BusiestKeys", busy[:limit])(s.BusiestKeys(s.ctx, limit))
	}
	s.wantOverQuota(big)
	same(s, "BusiestKeys on the next day", []access.Use{})(s.BusiestKeys(s.ctx, 9))
}

// wantOverQuota uses up what two tenants have until the day is over.
func (s *tenant) wantOverQuota(big *tenant) {
	s.Helper()
	today, now := start.Unix()/86400, start.UnixMilli()
	over := func(when string, want int64) {
		s.Helper()
		same(s, "CountOverQuota when "+when, want)(s.CountOverQuota(s.ctx))
	}
	over("the day is not used up", 0)
	s.saveWindows(
		ratelimit.SavedWindow{Subject: fmt.Sprint("w:", s.workspace), MinuteStart: now, MinuteUsed: access.FreeQuota.PerMinute, Day: today, DayUsed: access.FreeQuota.PerDay},
		ratelimit.SavedWindow{Subject: fmt.Sprint("w:", big.workspace), MinuteStart: now, MinuteUsed: 10, Day: today, DayUsed: 902})
	over("one by its day and its minute, one by its minute", 2)
	s.clock.Advance(-time.Second)
	over("its minute began by a clock that is ahead", 2)
	s.clock.Advance(time.Second)
	s.clock.Advance(time.Minute)
	over("the minute is over", 1)
	s.clock.Advance(24 * time.Hour)
	over("the day is over", 0)
}

// testOldDays: rows that still count are never left out, whatever a clock that
// was wrong wrote beside them.
func testOldDays(s *tenant) {
	window := func(subject string, day int64) ratelimit.SavedWindow {
		return ratelimit.SavedWindow{Subject: subject, Day: day, DayUsed: 1}
	}
	today := start.Unix() / 86400
	keep := []ratelimit.SavedWindow{window("w:1", today), window("a:192.0.2.1", today-1)}
	s.saveWindows(keep...)
	for subject, ahead := range map[string]int64{"w:2": 1, "w:3": 3, "w:4": 365, "w:5": -1000} {
		future := window(subject, today+ahead)
		s.saveWindows(future)
		if ahead > 0 {
			keep = append(keep, future)
		}
	}
	for day := range int64(20) {
		s.saveWindows(window(fmt.Sprintf("a:198.51.100.%d", day), today-100+day))
	}
	s.must(s.Forget(s.ctx))
	got, err := s.LoadLimits(s.ctx)
	must(s, err)
	for _, w := range keep {
		if !slices.Contains(got, w) {
			s.Errorf("LoadLimits left out %+v", w)
		}
	}
	if len(got) > 8+2 {
		s.Errorf("LoadLimits = %d rows of windows, want old days gone: %+v", len(got), got)
	}
}
