package ratelimit

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// FuzzRestore checks that a saved row that cannot be read is named, that one that can is read back as it is written
// again, and that no row whatever hands out more than the limits.
func FuzzRestore(f *testing.F) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	at, today := now.UnixMilli(), dayOf(now.UnixNano())
	f.Add("w:7", "", at, int64(60), today, int64(60))
	f.Add("a:192.0.2.7", "1,2,3", at, int64(1), today, int64(999))
	f.Add("a:2001:db8:0:1::/64", "9223372036854775808", at+1, int64(-1), today+1, int64(1)<<62)
	f.Add("a:*", strings.Repeat("1,", 30)+"1", int64(-1)<<63, int64(1)<<62, int64(1)<<62, int64(-1)<<63)
	f.Add("w:-07", "+1,,x", int64(0), int64(0), int64(0), int64(0))
	f.Add("a:::ffff:192.0.2.7/64", " 1", int64(0), int64(0), int64(0), int64(0))
	f.Fuzz(func(t *testing.T, subject, strikes string, start, used, day, dayUsed int64) {
		m := NewMemory(DefaultConfig(), func() time.Time { return now })
		row := SavedWindow{Subject: subject, MinuteStart: start, MinuteUsed: used, Day: day, DayUsed: dayUsed}
		if err := m.Restore(Saved{Windows: []SavedWindow{row}}); err != nil {
			if !strings.Contains(err.Error(), strconv.Quote(subject)) {
				t.Errorf("Restore(%+v): %v, want the subject named", row, err)
			}
		} else {
			checkRestoredWindow(t, m, row)
		}
		key := SavedKey{KeyID: "key_1", Workspace: 1, RunFrom: start, CleanSince: used, Level: dayUsed, Strikes: strikes}
		if err := m.Restore(Saved{Keys: []SavedKey{key}}); err != nil {
			if !strings.Contains(err.Error(), `"key_1"`) {
				t.Errorf("Restore(%+v): %v, want the key named", key, err)
			}
		} else {
			checkRestoredStrikes(t, m, strikes)
		}
	})
}

// checkRestoredWindow has the subject of a row ask once more, and looks at what is saved then.
func checkRestoredWindow(t *testing.T, m *Memory, row SavedWindow) {
	t.Helper()
	limits, ask := m.addresses.limits, func() Decision { return m.AdmitAddress(t.Context(), netip.Addr{}) }
	if id, err := strconv.ParseInt(strings.TrimPrefix(row.Subject, "w:"), 10, 64); err == nil {
		c := m.Caller(id, "key_2", limits)
		ask = func() Decision { return m.Admit(t.Context(), c) }
	} else if a, err := parseAddress(row.Subject); err == nil {
		ask = func() Decision { return m.AdmitAddress(t.Context(), a) }
	}
	d := ask()
	full := row.Day >= d.Day.Reset/(24*60*60)-1 && row.DayUsed >= limits.PerDay
	if full && d.Admitted() {
		t.Errorf("after Restore(%+v) a request is admitted: %+v", row, d)
	}
	if d.Minute.Used > max(0, row.MinuteUsed)+1 || d.Day.Used > max(0, row.DayUsed)+1 || d.Minute.Used < 0 || d.Day.Used < 0 {
		t.Errorf("after Restore(%+v) a request is counted as %+v", row, d)
	}
	saved, _ := m.Dirty()
	rows := saved.Windows
	if len(rows) != 1 {
		t.Fatalf("after Restore(%+v) and a request %d windows are to be saved, want 1", row, len(rows))
	}
	again := NewMemory(DefaultConfig(), m.now)
	if err := again.Restore(Saved{Windows: rows}); err != nil {
		t.Errorf("what is saved after Restore(%+v) cannot be restored: %v", row, err)
	}
}

// checkRestoredStrikes checks that a key has the last strikes of a row, and that they are saved as they are.
func checkRestoredStrikes(t *testing.T, m *Memory, row string) {
	t.Helper()
	got := m.callers["key_1"].penalty.strikes
	keep := m.rules.Strikes - 1
	if len(got) != min(keep, strings.Count(row, ",")+1) && row != "" {
		t.Errorf("of the strikes %q %d are kept, want the last %d", row, len(got), keep)
	}
	again, err := parseStrikes(formatStrikes(got), keep)
	if err != nil || !slices.Equal(again, got) {
		t.Errorf("the strikes %v are read back as %v, %v", got, again, err)
	}
}
