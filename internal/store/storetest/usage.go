package storetest

import (
	"time"

	"example.com/petstore/internal/usage"
)

// usageTests are of the promises of [usage.Store].
var usageTests = map[string]func(*tenant){"of spans": testUsage, "of keys": testKeyUsage}

// usageRow returns a row with a different count in every place.
func usageRow(workspace int64, interval usage.Interval, key string, start, unit int64) usage.Row {
	r := usage.Row{Workspace: workspace, Interval: interval, Key: key, Start: start}
	for i := range r.Requests {
		r.Requests[i] = unit * int64(i+1)
	}
	for i := range r.Latency {
		r.Latency[i] = unit * int64(100+i)
	}
	r.Deprecated = 7 * unit
	return r
}

// wantUsage has the store find the rows of a query, in whose interval from and to are Unix seconds.
func (s *tenant) wantUsage(q usage.Query, from, to int64, rows ...usage.Row) {
	s.Helper()
	q.From, q.To = time.Unix(from, 0), time.Unix(to, 0)
	same(s, "Usage", rows)(s.Usage(s.ctx, q))
}

// testUsage: what is added adds up, by workspace and span, whoever adds at once; and old spans are forgotten.
func testUsage(s *tenant) {
	minutes := func(workspace int64) usage.Query { return usage.Query{Workspace: workspace, Interval: usage.Minute} }
	hours := func(workspace int64) usage.Query { return usage.Query{Workspace: workspace, Interval: usage.Hour} }
	minute := func(workspace, start, unit int64) usage.Row {
		return usageRow(workspace, usage.Minute, "", start, unit)
	}
	hour := func(unit int64) usage.Row { return usageRow(1, usage.Hour, "", 3600, unit) }
	add := func(rows ...usage.Row) error { return s.AddUsage(s.ctx, rows) }
	must(s, add())
	must(s, add(minute(1, 660, 1), minute(2, 660, 9), hour(3), minute(1, 660, 3), minute(1, 600, 1)))
	s.together(8, func(int) error { return add(minute(1, 600, 1), hour(1)) })
	s.wantUsage(minutes(1), 600, 660, minute(1, 600, 9), minute(1, 660, 4))
	s.wantUsage(minutes(1), 659, 659, minute(1, 600, 9))
	s.wantUsage(minutes(1), 660, 9999, minute(1, 660, 4))
	s.wantUsage(hours(1), 7199, 9999, hour(11))
	s.wantUsage(minutes(2), 0, 9999, minute(2, 660, 9))
	s.wantUsage(minutes(3), 0, 9999)
	for _, n := range []int{1, 0} {
		same(s, "ForgetUsage", n)(s.ForgetUsage(s.ctx, usage.Minute, 660))
	}
	s.wantUsage(minutes(1), 0, 9999, minute(1, 660, 4))
	s.wantUsage(hours(1), 0, 9999, hour(11))
}

// testKeyUsage: what keys did adds up by the day, belongs to their workspace, and is forgotten when it is old.
func testKeyUsage(s *tenant) {
	const day = int64(usage.Day)
	one := func(workspace int64, key string, n, unit int64) usage.Row {
		return usageRow(workspace, usage.Day, key, n*day, unit)
	}
	want := func(workspace int64, key string, from int64, want ...usage.Row) {
		s.Helper()
		s.wantUsage(usage.Query{Workspace: workspace, Interval: usage.Day, Key: key}, from*day+1, 9*day, want...)
	}
	must(s, s.AddUsage(s.ctx, []usage.Row{one(1, "b", 3, 1), one(1, "a", 4, 1), one(2, "a", 3, 1), one(1, "a", 3, 1)}))
	must(s, s.AddUsage(s.ctx, []usage.Row{one(1, "a", 3, 2), one(1, "a", 3, 4)}))
	want(1, "", 0, one(1, "a", 3, 7), one(1, "b", 3, 1), one(1, "a", 4, 1))
	want(1, "", 4, one(1, "a", 4, 1))
	want(1, "a", 0, one(1, "a", 3, 7), one(1, "a", 4, 1))
	want(2, "b", 0)
	same(s, "ForgetUsage of days", 3)(s.ForgetUsage(s.ctx, usage.Day, 4*day))
	want(1, "", 0, one(1, "a", 4, 1))
}
