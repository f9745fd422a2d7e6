package storetest

import (
	"cmp"
	"reflect"
	"slices"
	"testing"

	"example.com/petstore/internal/ratelimit"
)

var limitTests = map[string]func(*testing.T, Open){
	"round trip": testLimits,
	"old days":   testOldDays,
}

func (s *shop) wantLimits(what string, want ratelimit.Saved) {
	s.Helper()
	got, err := s.LoadLimits(s.ctx)
	if err != nil {
		s.Fatal(err)
	}
	slices.SortFunc(got.Windows, func(a, b ratelimit.SavedWindow) int { return cmp.Compare(a.Subject, b.Subject) })
	slices.SortFunc(got.Keys, func(a, b ratelimit.SavedKey) int { return cmp.Compare(a.KeyID, b.KeyID) })
	if !reflect.DeepEqual(got, want) {
		s.Errorf("LoadLimits %s = %+v, want %+v", what, got, want)
	}
}

func testLimits(t *testing.T, open Open) {
	s := newShop(t, open)
	s.wantLimits("at first", ratelimit.Saved{})
	windows := []ratelimit.SavedWindow{
		{Subject: "a:*", MinuteStart: 1, MinuteUsed: 2, Day: 20500, DayUsed: 4},
		{Subject: "a:2001:db8:0:1::/64", MinuteStart: 5, MinuteUsed: 6, Day: 20500, DayUsed: 8},
		{Subject: "w:12", MinuteStart: 1 << 50, MinuteUsed: 1 << 40, Day: 20500, DayUsed: 1 << 41},
	}
	keys := []ratelimit.SavedKey{
		{KeyID: "key_a", Workspace: s.workspace, Day: 20500, Admitted: 1, Refused: 2, LastUsed: 3, Level: 4, CleanSince: 5, RunFrom: 6, RunUntil: 7, Strikes: "8,9"},
		{KeyID: "key_b", Workspace: s.workspace},
	}
	save := func(rows ratelimit.Saved) {
		t.Helper()
		if err := s.SaveLimits(s.ctx, rows); err != nil {
			t.Fatal(err)
		}
	}
	save(ratelimit.Saved{Windows: windows, Keys: keys})
	s.wantLimits("after saving", ratelimit.Saved{Windows: windows, Keys: keys})
	windows[2].DayUsed++
	keys[1].Strikes = "10"
	save(ratelimit.Saved{Windows: windows[2:]})
	save(ratelimit.Saved{Keys: keys[1:]})
	save(ratelimit.Saved{})
	save(ratelimit.Saved{Keys: []ratelimit.SavedKey{{KeyID: "key_c", Workspace: s.workspace + 100}}})
	s.wantLimits("after replacing", ratelimit.Saved{Windows: windows, Keys: keys})
}

// testOldDays: rows that still count are never left out.
func testOldDays(t *testing.T, open Open) {
	s := newShop(t, open)
	var rows, want ratelimit.Saved
	for i, day := range []int64{20500, 20499, 20498, 20497, 20400} {
		w := ratelimit.SavedWindow{Subject: string(rune('a' + i)), Day: day, DayUsed: 1}
		rows.Windows = append(rows.Windows, w)
		if day >= 20498 {
			want.Windows = append(want.Windows, w)
		}
	}
	if err := s.SaveLimits(s.ctx, rows); err != nil {
		t.Fatal(err)
	}
	got, err := s.LoadLimits(s.ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range want.Windows {
		if !slices.Contains(got.Windows, w) {
			t.Errorf("LoadLimits left out %+v", w)
		}
	}
}
