package ratelimit

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// table is a Store in memory that can be told to fail.
type table struct {
	mu      sync.Mutex
	windows map[string]SavedWindow
	fail    error
	saves   int
}

func newTable() *table {
	return &table{windows: map[string]SavedWindow{}}
}

func (s *table) SaveLimits(ctx context.Context, rows []SavedWindow) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := cmp.Or(s.fail, ctx.Err()); err != nil {
		return err
	}
	s.saves++
	for _, r := range rows {
		s.windows[r.Subject] = r
	}
	return nil
}

func (s *table) LoadLimits(context.Context) ([]SavedWindow, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.windows)), nil
}

func (s *table) setFail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = err
}

// restarted returns a new limiter with the rows of the store.
func restarted(t *testing.T, s Store, cfg Config, now func() time.Time) *Limiter {
	t.Helper()
	rows, err := s.LoadLimits(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	m := New(cfg, now)
	if err := m.Restore(rows); err != nil {
		t.Fatalf("Restore = %v, want nil", err)
	}
	return m
}

func TestDirtyHasWhatChanged(t *testing.T) {
	t.Parallel()
	clock := newClock(noon)
	m := New(smallTable(), clock.Now)
	if got, _ := m.Dirty(); len(got) > 0 {
		t.Errorf("Dirty at first = %+v, want nothing", got)
	}
	a, b := m.Caller(7, "a", free), m.Caller(7, "b", free)
	m.Admit(a)
	m.Admit(b)
	m.AdmitAddress(netip.MustParseAddr("192.0.2.7"))
	m.AdmitAddress(netip.MustParseAddr("2001:db8:0:1::9"))
	m.AdmitAddress(netip.Addr{})
	got, requeue := m.Dirty()
	want := []string{"a:*", "a:192.0.2.7", "a:2001:db8:0:1::/64", "w:7"}
	if subjects := subjectsOf(got); !slices.Equal(subjects, want) {
		t.Errorf("Dirty = %v, want %v", subjects, want)
	}
	for _, w := range got {
		if w.Subject == "w:7" && w != (SavedWindow{"w:7", noon.UnixMilli(), 2, noon.Unix() / 86_400, 2}) {
			t.Errorf("row = %+v, want 2 used since noon", w)
		}
	}
	if again, _ := m.Dirty(); len(again) > 0 {
		t.Errorf("Dirty again = %+v, want nothing", again)
	}
	m.Admit(b)
	requeue()
	redone, _ := m.Dirty()
	if subjects := subjectsOf(redone); !slices.Equal(subjects, want) {
		t.Errorf("Dirty after requeue = %v, want %v", subjects, want)
	}
	for _, w := range redone {
		if w.Subject == "w:7" && w.DayUsed != 3 {
			t.Errorf("row after requeue = %+v, want the 3 used by then", w)
		}
	}
}

func subjectsOf(rows []SavedWindow) []string {
	var all []string
	for _, w := range rows {
		all = append(all, w.Subject)
	}
	slices.Sort(all)
	return all
}

func TestARestartForgetsNothing(t *testing.T) {
	t.Parallel()
	clock, store := newClock(noon.Add(1234567)), newTable()
	m := New(smallTable(), clock.Now)
	c := m.Caller(1, "k", narrow)
	banned := hammer(t, m, c, clock)
	for i := range 5 {
		m.AdmitAddress(numbered(i))
	}
	rows, _ := m.Dirty()
	if err := store.SaveLimits(t.Context(), rows); err != nil {
		t.Fatal(err)
	}
	m2 := restarted(t, store, smallTable(), clock.Now)
	c2 := m2.Caller(1, "k", narrow)
	m2.SetBan("k", banned.NewBan)
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
	if s := m2.Stats(); s.Addresses != 3 || s.Keys != 1 || s.Workspaces != 1 || s.Bans != 1 {
		t.Errorf("Stats = %+v, want 3 addresses, 1 key, 1 workspace, 1 ban", s)
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
		d := m.Peek(m.Caller(1, "k", free))
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

// keeping returns a limiter that saves each second, a key that it admitted once, 1.1 seconds ago, and what ends the
// saving and returns what Keep did. It is for a bubble.
func keeping(t *testing.T, store Store) (m *Limiter, c *Caller, end func() error) {
	t.Helper()
	m = New(DefaultConfig(), time.Now)
	c = m.Caller(1, "k", free)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- m.Keep(ctx, store, time.Second) }()
	m.Admit(c)
	time.Sleep(1100 * time.Millisecond)
	return m, c, func() error {
		cancel()
		return <-done
	}
}

func TestKeepSavesEachIntervalAndAtTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, store := t.Context(), newTable()
		m, c, end := keeping(t, store)
		if rows, _ := store.LoadLimits(ctx); len(rows) != 1 || rows[0].DayUsed != 1 {
			t.Errorf("after an interval the store has %+v, want 1 used", rows)
		}
		store.setFail(errors.New("disk full"))
		m.Admit(c)
		time.Sleep(2 * time.Second)
		if got := m.Stats().FailedSaves; got != 2 {
			t.Errorf("FailedSaves = %d, want 2", got)
		}
		store.setFail(nil)
		if err := end(); err != nil {
			t.Errorf("Keep = %v, want nil", err)
		}
		if rows, _ := store.LoadLimits(context.Background()); rows[0].DayUsed != 2 {
			t.Errorf("at the end the store has %+v, want 2 used", rows)
		}
		if store.saves != 2 {
			t.Errorf("saves = %d, want 2: none without a change", store.saves)
		}
	})
}

// slowTable takes its time for each save, and notes those that were broken off.
type slowTable struct {
	*table
	takes  time.Duration
	broken int
}

func (s *slowTable) SaveLimits(ctx context.Context, rows []SavedWindow) error {
	select {
	case <-time.After(s.takes):
		return s.table.SaveLimits(ctx, rows)
	case <-ctx.Done():
		s.broken++
		return ctx.Err()
	}
}

// TestTheEndBreaksNoSaveOff: of a save that is broken off nobody may know whether it was done. Only its time-out does.
func TestTheEndBreaksNoSaveOff(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		takes         time.Duration
		broken        int
		failed        bool
		least, atMost time.Duration // from the end on
	}{
		{3 * time.Second, 0, false, 5 * time.Second, 6 * time.Second},
		{time.Hour, 2, true, 2*saveTimeout - time.Second, 2 * saveTimeout},
	} {
		synctest.Test(t, func(t *testing.T) {
			store := &slowTable{table: newTable(), takes: test.takes}
			m, c, end := keeping(t, store)
			m.Admit(c)
			began := time.Now()
			err := end()
			if took := time.Since(began); (err != nil) != test.failed || took < test.least || took > test.atMost {
				t.Errorf("saves of %v: Keep = %v, %v after the end, want an error: %v, after %v to %v", test.takes, err, took, test.failed, test.least, test.atMost)
			}
			if rows, _ := store.LoadLimits(context.Background()); store.broken != test.broken || !test.failed && rows[0].DayUsed != 2 {
				t.Errorf("saves of %v: %d were broken off and the store has %+v, want %d, and 2 admitted", test.takes, store.broken, rows, test.broken)
			}
		})
	}
}
