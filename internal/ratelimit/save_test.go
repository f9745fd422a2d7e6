package ratelimit

import (
	"context"
	"errors"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"
)

// table is a Store in memory that can be told to fail.
type table struct {
	windows map[string]SavedWindow
	fail    error
	saves   int
}

func newTable() *table {
	return &table{windows: map[string]SavedWindow{}}
}

func (s *table) SaveLimits(_ context.Context, rows []SavedWindow) error {
	if s.fail != nil {
		return s.fail
	}
	s.saves++
	for _, r := range rows {
		s.windows[r.Subject] = r
	}
	return nil
}

func (s *table) LoadLimits(context.Context) ([]SavedWindow, error) {
	return slices.Collect(maps.Values(s.windows)), nil
}

// restarted returns a new limiter with the rows of the store.
func restarted(t *testing.T, s Store, cfg Config, now func() time.Time) *Limiter {
	t.Helper()
	rows, err := s.LoadLimits(t.Context())
	must(t, err)
	m := New(cfg, now)
	if err := m.Restore(rows); err != nil {
		t.Fatalf("Restore = %v, want nil", err)
	}
	return m
}

// TestSaveHasWhatChanged: a save has what changed since the one before, and what that one could not save.
func TestSaveHasWhatChanged(t *testing.T) {
	t.Parallel()
	clock, store := newClock(noon), newTable()
	m := New(smallTable(), clock.Now)
	save := func(want ...string) {
		t.Helper()
		clear(store.windows)
		if err := m.Save(t.Context(), store); !errors.Is(err, store.fail) {
			t.Errorf("Save = %v, want %v", err, store.fail)
		}
		if got := slices.Sorted(maps.Keys(store.windows)); !slices.Equal(got, want) {
			t.Errorf("saved %v, want %v", got, want)
		}
	}
	save()
	a, b := m.Caller(nil, 7, "a", free, nil), m.Caller(nil, 7, "b", free, nil)
	m.Admit(a)
	m.Admit(b)
	m.AdmitAddress(netip.MustParseAddr("192.0.2.7"))
	m.AdmitAddress(netip.MustParseAddr("2001:db8:0:1::9"))
	m.AdmitAddress(netip.Addr{})
	store.fail = errors.New("disk full")
	save()
	m.Admit(b)
	store.fail = nil
	save("a:*", "a:192.0.2.7", "a:2001:db8:0:1::/64", "w:7")
	if got, want := store.windows["w:7"], (SavedWindow{"w:7", noon.UnixMilli(), 3, noon.Unix() / 86_400, 3}); got != want {
		t.Errorf("row = %+v, want %+v", got, want)
	}
	save()
	if got := m.Stats().FailedSaves; got != 1 || store.saves != 1 {
		t.Errorf("%d saves failed and %d were made, want 1 of each: none without a change", got, store.saves)
	}
}

func TestARestartForgetsNothing(t *testing.T) {
	t.Parallel()
	clock, store := newClock(noon.Add(1234567)), newTable()
	m := New(smallTable(), clock.Now)
	c := m.Caller(nil, 1, "k", narrow, nil)
	banned := hammer(t, m, c, clock)
	for i := range 5 {
		m.AdmitAddress(numbered(i))
	}
	must(t, m.Save(t.Context(), store))
	m2 := restarted(t, store, smallTable(), clock.Now)
	c2 := m2.Caller(nil, 1, "k", narrow, nil)
	setBan(m2, c2, banned.NewBan)
	m2.Admit(c2)
	if got, want := m2.Peek(c2), m.Peek(c); got != want {
		t.Errorf("Peek = %+v, want %+v", got, want)
	}
	for i := range 5 {
		got, want := m2.PeekAddress(numbered(i)), m.PeekAddress(numbered(i))
		if got.Outcome != want.Outcome || got.Day != want.Day || got.Minute.Used != want.Minute.Used {
			t.Errorf("PeekAddress(%d) = %+v, want %+v", i, got, want)
		}
	}
	if s := m2.Stats(); s.Addresses != 3 {
		t.Errorf("Stats = %+v, want 3 addresses", s)
	}
	clock.set(banned.NewBan.Until)
	if d := hammer(t, m2, c2, clock); d.NewBan.Level != 2 {
		t.Errorf("the next ban's level = %d, want 2", d.NewBan.Level)
	}
}

func TestStateFromAnotherTime(t *testing.T) {
	t.Parallel()
	today := noon.Unix() / 86_400
	used := func(start time.Duration, day int64) SavedWindow {
		return SavedWindow{Subject: "w:1", MinuteStart: noon.Add(start).UnixMilli(), MinuteUsed: 2, Day: day, DayUsed: 5}
	}
	const dayLong = 24 * time.Hour
	for _, test := range []struct {
		name    string
		row     SavedWindow
		minute  int64 // used
		day     int64
		dayEnds time.Time
	}{
		{"as it was", used(-10*time.Second, today), 2, 5, noon.Add(dayLong / 2)},
		{"minute over", used(-time.Minute, today), 0, 5, noon.Add(dayLong / 2)},
		{"yesterday", used(-dayLong, today-1), 0, 0, noon.Add(dayLong / 2)},
		{"tomorrow", used(dayLong, today+1), 2, 5, noon.Add(dayLong * 3 / 2)},
		{"in two days", used(2*dayLong, today+2), 2, 5, noon.Add(dayLong / 2)},
	} {
		clock := newClock(noon)
		m := New(DefaultConfig(), clock.Now)
		if err := m.Restore([]SavedWindow{test.row}); err != nil {
			t.Errorf("%s: Restore = %v, want nil", test.name, err)
		}
		d := m.Peek(m.Caller(nil, 1, "k", free, nil))
		if d.Minute.Used != test.minute || d.Day.Used != test.day || d.Day.Reset != test.dayEnds.Unix() {
			t.Errorf("%s = %+v, want %d and %d used, the day until %v", test.name, d, test.minute, test.day, test.dayEnds)
		}
		if ahead := d.Minute.Reset - noon.Unix(); ahead < 1 || ahead > 60 {
			t.Errorf("%s: the minute resets in %d s, want 1 to 60", test.name, ahead)
		}
	}
}

func TestRestoreNamesTheRowItCannotRead(t *testing.T) {
	t.Parallel()
	for _, subject := range []string{"w:one", "a:nowhere", "x"} {
		err := New(DefaultConfig(), newClock(noon).Now).Restore([]SavedWindow{{Subject: subject}})
		if err == nil || !strings.Contains(err.Error(), subject) {
			t.Errorf("Restore of %q = %v, want an error that names it", subject, err)
		}
	}
}
