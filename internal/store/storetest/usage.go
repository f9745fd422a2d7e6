package storetest

import (
	"example.com/petstore/internal/usage"
)

// usageTests are of the promises of [usage.Store].
var usageTests = map[string]func(*tenant){"of spans": testUsage, "of keys": testKeyDays}

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

// testUsage: what is added adds up, by workspace and span, whoever adds at once, and of all workspaces together; and old
// spans are forgotten.
func testUsage(s *tenant) {
	const minute, hour = usage.Minute, usage.Hour
	add := func(rows ...usage.Row) { must(s, s.AddUsage(s.ctx, rows)) }
	want := func(workspace int64, interval usage.Interval, from, to int64, rows ...usage.Row) {
		s.Helper()
		same(s, "Usage", rows)(s.Usage(s.ctx, workspace, interval, from, to))
	}
	add()
	add(usageRow(1, minute, 660, 1), usageRow(2, minute, 660, 9), usageRow(1, hour, 600, 3), usageRow(1, minute, 660, 3), usageRow(1, minute, 600, 1))
	s.together(8, func(int) error {
		return s.AddUsage(s.ctx, []usage.Row{usageRow(1, minute, 600, 1), usageRow(1, hour, 600, 1)})
	})
	first, second := usageRow(1, minute, 600, 9), usageRow(1, minute, 660, 4)
	want(1, minute, 600, 661, first, second)
	want(1, minute, 600, 660, first)
	want(1, minute, 601, 9999, second)
	want(1, hour, 0, 9999, usageRow(1, hour, 600, 11))
	want(2, minute, 0, 9999, usageRow(2, minute, 660, 9))
	want(3, minute, 0, 9999)
	same(s, "UsageOfAll", []usage.Row{usageRow(0, minute, 600, 9), usageRow(0, minute, 660, 13)})(s.UsageOfAll(s.ctx, minute, 600, 720))
	same(s, "UsageOfAll of one span", []usage.Row{usageRow(0, minute, 600, 9)})(s.UsageOfAll(s.ctx, minute, 0, 660))
	for _, n := range []int{1, 0} {
		same(s, "ForgetUsage", n)(s.ForgetUsage(s.ctx, minute, 660))
	}
	want(1, minute, 0, 9999, second)
	want(1, hour, 0, 9999, usageRow(1, hour, 600, 11))
}

// testKeyDays: what keys did adds up by the day, belongs to their workspace, and is forgotten when it is old.
func testKeyDays(s *tenant) {
	const day = int64(usage.Day)
	one := func(workspace int64, key string, n, unit int64) usage.KeyDay {
		k := usage.KeyDay{Workspace: workspace, KeyID: key, Day: n * day, Deprecated: 7 * unit}
		for i := range k.Requests {
			k.Requests[i] = unit * int64(i+1)
		}
		return k
	}
	add := func(days ...usage.KeyDay) {
		s.Helper()
		must(s, s.AddKeyDays(s.ctx, days))
	}
	want := func(workspace int64, key string, from int64, want ...usage.KeyDay) {
		s.Helper()
		same(s, "KeyDays", want)(s.KeyDays(s.ctx, workspace, key, from*day))
	}
	add()
	add(one(1, "b", 3, 1), one(1, "a", 4, 1), one(2, "a", 3, 1), one(1, "a", 3, 1))
	add(one(1, "a", 3, 2), one(1, "a", 3, 4))
	want(1, "", 0, one(1, "a", 3, 7), one(1, "a", 4, 1), one(1, "b", 3, 1))
	want(1, "", 4, one(1, "a", 4, 1))
	want(1, "a", 0, one(1, "a", 3, 7), one(1, "a", 4, 1))
	want(2, "b", 0)
	same(s, "ForgetUsage of days", 3)(s.ForgetUsage(s.ctx, usage.Day, 4*day))
	want(1, "", 0, one(1, "a", 4, 1))
}
