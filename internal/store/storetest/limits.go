package storetest

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/ratelimit"
	"example.com/petstore/internal/usage"
)

var limitTests = map[string]func(*testing.T, Open){
	"round trip": testLimits,
	"old days":   testOldDays,
	"key uses":   testKeyUses,
}

func (s *tenant) wantLimits(what string, want []ratelimit.SavedWindow) {
	s.Helper()
	got, err := s.LoadLimits(s.ctx)
	must(s, err)
	slices.SortFunc(got, func(a, b ratelimit.SavedWindow) int { return cmp.Compare(a.Subject, b.Subject) })
	if !slices.Equal(got, want) {
		s.Errorf("LoadLimits %s = %+v, want %+v", what, got, want)
	}
}

func testLimits(t *testing.T, open Open) {
	s := newTenant(t, open)
	s.wantLimits("at first", nil)
	windows := []ratelimit.SavedWindow{
		{Subject: "a:*", MinuteStart: 1, MinuteUsed: 2, Day: 20500, DayUsed: 4},
		{Subject: "a:2001:db8:0:1::/64", MinuteStart: 5, MinuteUsed: 6, Day: 20500, DayUsed: 8},
		{Subject: "w:12", MinuteStart: 1 << 50, MinuteUsed: 1 << 40, Day: 20500, DayUsed: 1 << 41},
	}
	for i := range int64(500) { // more than one transaction saves
		windows = append(windows, ratelimit.SavedWindow{Subject: fmt.Sprintf("w:2%03d", i), Day: 20500, DayUsed: i})
	}
	must(t, s.SaveLimits(s.ctx, windows))
	s.wantLimits("after saving", windows)
	windows[2].DayUsed++
	must(t, s.SaveLimits(s.ctx, windows[2:]))
	must(t, s.SaveLimits(s.ctx, nil))
	s.wantLimits("after replacing", windows)
}

func (s *tenant) wantOver(when string, want int64) {
	s.Helper()
	if got, err := s.CountOverQuota(s.ctx); err != nil || got != want {
		s.Errorf("%s: CountOverQuota = %d, %v, want %d", when, got, err, want)
	}
}

// testKeyUses: what a key did today is told, and when it was used last. Those whose workspaces used most of their quota are the busiest.
func testKeyUses(t *testing.T, open Open) {
	s := newTenant(t, open)
	big := s.beside("big")
	if _, err := s.SetPlan(s.ctx, big.workspace, access.Enterprise, access.Quota{PerMinute: 10, PerDay: 100 * access.FreeQuota.PerDay}, "cli"); err != nil {
		t.Fatal(err)
	}
	keys := []access.Key{s.key("0", time.Time{}), big.key("1", time.Time{})}
	for i := range 4 {
		keys = append(keys, s.key(fmt.Sprint(i+2), time.Time{}))
	}
	today, now := start.Unix()/86400, start.UnixMilli()
	counts := s.Stores.(usage.Store) //nolint:forcetypeassert // every store is one
	row := func(i int, day, admitted, refused, last int64) {
		t.Helper()
		k := usage.KeyDay{KeyID: keys[i].ID, Workspace: keys[i].WorkspaceID, Day: day * 86400, LastUsed: last}
		k.Requests[usage.Success], k.Requests[usage.Limited] = admitted, refused
		must(t, counts.AddKeyDays(s.ctx, []usage.KeyDay{k}))
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
	must(t, s.revoke(keys[5].ID, start))
	windows := []ratelimit.SavedWindow{
		{Subject: fmt.Sprint("w:", s.workspace), Day: today, DayUsed: 900}, {Subject: fmt.Sprint("w:", big.workspace), Day: today, DayUsed: 901},
		{Subject: fmt.Sprint("w:", s.beside("idle").workspace), Day: today - 1, DayUsed: 1000}, {Subject: "a:*", Day: today, DayUsed: 1000},
	}
	must(t, s.SaveLimits(s.ctx, windows))
	want := map[string]access.Use{
		keys[0].ID: use(0, 6, 1, now), keys[1].ID: use(1, 30, 0, now), keys[2].ID: use(2, 0, 0, now-3000),
		keys[3].ID: use(3, 9, 0, now), keys[5].ID: use(5, 900, 0, now),
	}
	many := slices.Repeat([]access.Key{s.mint(time.Time{})}, 1000)
	if got, err := s.KeyUses(s.ctx, append(many, keys...)); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("KeyUses = %+v, %v, want %+v", got, err, want)
	}
	if got, err := s.KeyUses(s.ctx, nil); err != nil || len(got) != 0 {
		t.Errorf("KeyUses of no keys = %+v, %v, want none", got, err)
	}
	busy := []access.Use{use(3, 9, 0, now), use(0, 6, 1, now), use(1, 30, 0, now)}
	for limit := range 4 {
		if got, err := s.BusiestKeys(s.ctx, limit); err != nil || len(got) != limit || limit > 0 && !reflect.DeepEqual(got, busy[:limit]) {
			t.Errorf("BusiestKeys(%d) = %+v, %v, want the first of %+v", limit, got, err, busy)
		}
	}
	s.wantOver("the day is not used up", 0)
	windows = []ratelimit.SavedWindow{
		{Subject: fmt.Sprint("w:", s.workspace), MinuteStart: now, MinuteUsed: access.FreeQuota.PerMinute, Day: today, DayUsed: access.FreeQuota.PerDay},
		{Subject: fmt.Sprint("w:", big.workspace), MinuteStart: now, MinuteUsed: 10, Day: today, DayUsed: 902},
	}
	must(t, s.SaveLimits(s.ctx, windows))
	s.wantOver("one by its day and its minute, one by its minute", 2)
	s.clock.Advance(-time.Second)
	s.wantOver("its minute began by a clock that is ahead", 2)
	s.clock.Advance(time.Second)
	s.clock.Advance(time.Minute)
	s.wantOver("the minute is over", 1)
	s.clock.Advance(24 * time.Hour)
	s.wantOver("the day is over", 0)
	if got, err := s.BusiestKeys(s.ctx, 9); err != nil || len(got) != 0 {
		t.Errorf("BusiestKeys on the next day = %+v, %v, want none", got, err)
	}
}

// testOldDays: rows that still count are never left out, whatever a clock that
// was wrong wrote beside them.
func testOldDays(t *testing.T, open Open) {
	s := newTenant(t, open)
	window := func(subject string, day int64) ratelimit.SavedWindow {
		return ratelimit.SavedWindow{Subject: subject, Day: day, DayUsed: 1}
	}
	save := func(rows ...ratelimit.SavedWindow) {
		t.Helper()
		must(t, s.SaveLimits(s.ctx, rows))
	}
	today := start.Unix() / 86400
	keep := []ratelimit.SavedWindow{window("w:1", today), window("a:192.0.2.1", today-1)}
	save(keep...)
	for subject, ahead := range map[string]int64{"w:2": 1, "w:3": 3, "w:4": 365, "w:5": -1000} {
		future := window(subject, today+ahead)
		save(future)
		if ahead > 0 {
			keep = append(keep, future)
		}
	}
	for day := range int64(20) {
		save(window(fmt.Sprintf("a:198.51.100.%d", day), today-100+day))
	}
	if _, err := s.Forget(s.ctx); err != nil {
		t.Fatal(err)
	}
	got, err := s.LoadLimits(s.ctx)
	must(t, err)
	for _, w := range keep {
		if !slices.Contains(got, w) {
			t.Errorf("LoadLimits left out %+v", w)
		}
	}
	if len(got) > 8+2 {
		t.Errorf("LoadLimits = %d rows of windows, want old days gone: %+v", len(got), got)
	}
}
