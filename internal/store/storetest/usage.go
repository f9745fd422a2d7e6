package storetest

import (
	"context"
	"reflect"
	"testing"

	"example.com/petstore/internal/usage"
)

// RunUsage tests the promises of [usage.Store]. open returns a new, empty store that is closed when the test ends.
func RunUsage(t *testing.T, open func(t *testing.T) usage.Store) {
	for name, test := range map[string]func(*testing.T, usage.Store){
		"adds up":     testUsageAddsUp,
		"selects":     testUsageSelects,
		"concurrency": testUsageConcurrently,
		"forgets":     testUsageForgets,
		"of all":      testUsageOfAll,
		"of keys":     testKeyDays,
	} {
		t.Run("usage "+name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

// usageRow returns a row with a different count in every place.
func usageRow(workspace int64, interval usage.Interval, start, unit int64) usage.Row {
	r := usage.Row{Workspace: workspace, Interval: interval, Start: start}
	for i := range r.Requests {
		r.Requests[i] = unit * int64(i+1)
	}
	for i := range r.Latency {
		r.Latency[i] = unit * int64(100+i)
	}
	return r
}

func addUsage(t *testing.T, s usage.Store, rows ...usage.Row) {
	t.Helper()
	must(t, s.AddUsage(t.Context(), rows))
}

func wantUsage(t *testing.T, s usage.Store, workspace int64, interval usage.Interval, from, to int64, want ...usage.Row) {
	t.Helper()
	got, err := s.Usage(t.Context(), workspace, interval, from, to)
	if err != nil || len(got) != len(want) || len(want) > 0 && !reflect.DeepEqual(got, want) {
		t.Errorf("Usage(%d, %d, %d, %d) = %v, %v, want %v", workspace, interval, from, to, got, err, want)
	}
}

func testUsageAddsUp(t *testing.T, s usage.Store) {
	addUsage(t, s)
	addUsage(t, s, usageRow(1, usage.Minute, 600, 1), usageRow(1, usage.Minute, 660, 2))
	addUsage(t, s, usageRow(1, usage.Minute, 600, 4))
	addUsage(t, s, usageRow(1, usage.Minute, 660, 1), usageRow(1, usage.Minute, 660, 1))
	wantUsage(t, s, 1, usage.Minute, 0, 1000, usageRow(1, usage.Minute, 600, 5), usageRow(1, usage.Minute, 660, 4))
}

func testUsageSelects(t *testing.T, s usage.Store) {
	minute, later, hour := usageRow(1, usage.Minute, 3600, 1), usageRow(1, usage.Minute, 3660, 2), usageRow(1, usage.Hour, 3600, 3)
	other := usageRow(2, usage.Minute, 3600, 4)
	addUsage(t, s, later, other, hour, minute)
	wantUsage(t, s, 1, usage.Minute, 3600, 3661, minute, later)
	wantUsage(t, s, 1, usage.Minute, 3600, 3660, minute)
	wantUsage(t, s, 1, usage.Minute, 3601, 9999, later)
	wantUsage(t, s, 1, usage.Hour, 0, 9999, hour)
	wantUsage(t, s, 2, usage.Minute, 0, 9999, other)
	wantUsage(t, s, 3, usage.Minute, 0, 9999)
}

func testUsageConcurrently(t *testing.T, s usage.Store) {
	for i, err := range parallel(20, func(int) error {
		return s.AddUsage(context.WithoutCancel(t.Context()), []usage.Row{usageRow(1, usage.Minute, 600, 1), usageRow(1, usage.Hour, 0, 1)})
	}) {
		if err != nil {
			t.Fatalf("AddUsage %d: %v", i, err)
		}
	}
	wantUsage(t, s, 1, usage.Minute, 600, 601, usageRow(1, usage.Minute, 600, 20))
	wantUsage(t, s, 1, usage.Hour, 0, 1, usageRow(1, usage.Hour, 0, 20))
}

func testUsageForgets(t *testing.T, s usage.Store) {
	stays, hour := usageRow(1, usage.Minute, 660, 1), usageRow(1, usage.Hour, 0, 1)
	addUsage(t, s, usageRow(1, usage.Minute, 540, 1), usageRow(2, usage.Minute, 600, 1), stays, hour)
	removed, err := s.ForgetUsage(t.Context(), usage.Minute, 660)
	if again, _ := s.ForgetUsage(t.Context(), usage.Minute, 660); removed != 2 || again != 0 || err != nil {
		t.Errorf("ForgetUsage = %d and then %d, %v, want 2 and then 0", removed, again, err)
	}
	wantUsage(t, s, 1, usage.Minute, 0, 9999, stays)
	wantUsage(t, s, 2, usage.Minute, 0, 9999)
	wantUsage(t, s, 1, usage.Hour, 0, 9999, hour)
}

// testUsageOfAll: the rows of all workspaces are added up, span by span.
func testUsageOfAll(t *testing.T, s usage.Store) {
	addUsage(t, s, usageRow(1, usage.Minute, 600, 1), usageRow(2, usage.Minute, 600, 2), usageRow(3, usage.Minute, 660, 4),
		usageRow(1, usage.Minute, 540, 8), usageRow(1, usage.Minute, 720, 8), usageRow(1, usage.Hour, 0, 8), usageRow(2, usage.Hour, 3600, 8))
	want := []usage.Row{usageRow(0, usage.Minute, 600, 3), usageRow(0, usage.Minute, 660, 4)}
	got, err := s.UsageOfAll(t.Context(), usage.Minute, 600, 720)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("UsageOfAll(minute, 600, 720) = %v, %v, want %v", got, err, want)
	}
	if got, err := s.UsageOfAll(t.Context(), usage.Minute, 0, 600-60); err != nil || len(got) != 0 {
		t.Errorf("UsageOfAll of a time without requests = %v, %v, want none", got, err)
	}
}

// testKeyDays: what keys did adds up by the day, belongs to their workspace, and is forgotten when it is old.
func testKeyDays(t *testing.T, s usage.Store) {
	const day = int64(usage.Day)
	one := func(workspace int64, key string, n, unit int64) usage.KeyDay {
		k := usage.KeyDay{Workspace: workspace, KeyID: key, Day: n * day, Deprecated: 7 * unit}
		for i := range k.Requests {
			k.Requests[i] = unit * int64(i+1)
		}
		return k
	}
	add := func(days ...usage.KeyDay) {
		t.Helper()
		must(t, s.AddKeyDays(t.Context(), days))
	}
	want := func(workspace int64, key string, from int64, want ...usage.KeyDay) {
		t.Helper()
		got, err := s.KeyDays(t.Context(), workspace, key, from*day)
		if err != nil || len(got) != len(want) || len(want) > 0 && !reflect.DeepEqual(got, want) {
			t.Errorf("KeyDays(%d, %q, day %d) = %v, %v, want %v", workspace, key, from, got, err, want)
		}
	}
	add()
	add(one(1, "b", 3, 1), one(1, "a", 4, 1), one(2, "a", 3, 1), one(1, "a", 3, 1))
	add(one(1, "a", 3, 2), one(1, "a", 3, 4))
	want(1, "", 0, one(1, "a", 3, 7), one(1, "a", 4, 1), one(1, "b", 3, 1))
	want(1, "", 4, one(1, "a", 4, 1))
	want(1, "a", 0, one(1, "a", 3, 7), one(1, "a", 4, 1))
	want(2, "b", 0)
	if n, err := s.ForgetUsage(t.Context(), usage.Day, 4*day); err != nil || n != 3 {
		t.Errorf("ForgetUsage = %d, %v, want 3", n, err)
	}
	want(1, "", 0, one(1, "a", 4, 1))
}
