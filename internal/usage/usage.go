// Package usage keeps statistics of the requests that were answered, which the console shows: how many had each outcome and
// how fast they were, by the minute for a day and by the hour for a quarter, and the latest requests themselves. The limits of
// workspaces are in package ratelimit, and the metrics of the process in package node.
package usage

import (
	"context"
	"time"
)

// A Class groups the outcomes of requests.
type Class uint8

// The classes, in the order in which charts stack them.
const (
	Success     Class = iota // 2xx
	NotModified              // 304, and the rest of 3xx
	ClientError              // 4xx but 429
	Limited                  // 429
	ServerError              // 5xx
	Classes     = 5
)

// ClassOf returns the class of an HTTP status.
func ClassOf(status int) Class {
	switch {
	case status == 429:
		return Limited
	case status >= 500:
		return ServerError
	case status >= 400:
		return ClientError
	case status >= 300:
		return NotModified
	}
	return Success
}

// String returns the statuses of the class: "2xx", "304", "4xx", "429" or "5xx".
func (c Class) String() string {
	return [Classes]string{"2xx", "304", "4xx", "429", "5xx"}[c%Classes]
}

// Buckets is the number of buckets in the histogram of latencies.
const Buckets = 10

// Bounds returns the upper bounds of the buckets but the last, which has none.
func Bounds() [Buckets - 1]time.Duration {
	const ms = time.Millisecond
	return [...]time.Duration{ms / 4, ms / 2, ms, 2 * ms, 5 * ms, 20 * ms, 100 * ms, 500 * ms, 2000 * ms}
}

func bucketOf(d time.Duration) int {
	bounds := Bounds()
	for i, bound := range &bounds {
		if d <= bound {
			return i
		}
	}
	return Buckets - 1
}

// Counts are requests in a span of time.
type Counts struct {
	Requests   [Classes]int64 // by class
	Latency    [Buckets]int64 // by bucket, see Bounds; 0 in the row of a key
	Deprecated int64          // how many were for a deprecated operation; 0 in other rows
}

// Add adds what o counted to c.
func (c *Counts) Add(o *Counts) {
	for i, n := range o.Requests {
		c.Requests[i] += n
	}
	for i, n := range o.Latency {
		c.Latency[i] += n
	}
	c.Deprecated += o.Deprecated
}

// Total returns the number of requests.
func (c *Counts) Total() (n int64) {
	for _, m := range c.Requests {
		n += m
	}
	return n
}

// Quantile returns how long the fastest share q of the requests took at most, between 0 and 1, interpolated
// within a bucket of the histogram. It returns 0 if there are no requests, and the last bound for what is beyond it.
func (c *Counts) Quantile(q float64) time.Duration {
	var total int64
	for _, n := range c.Latency {
		total += n
	}
	if total == 0 {
		return 0
	}
	rank, bounds := q*float64(total), Bounds()
	var below float64
	var low time.Duration
	for i, bound := range &bounds {
		n := float64(c.Latency[i])
		if n > 0 && below+n >= rank {
			return low + time.Duration(float64(bound-low)*max(0, rank-below)/n)
		}
		below, low = below+n, bound
	}
	return low
}

// An Interval is the span of a row, in seconds.
type Interval int64

// The intervals of rows: the first two of those of workspaces, and Day of those of keys.
const (
	Minute Interval = 60
	Hour   Interval = 3600
	Day    Interval = 86400
)

// Start returns the beginning of the span that contains t, in Unix seconds.
func (s Interval) Start(t time.Time) int64 { return t.Unix() - t.Unix()%int64(s) }

// How long rows are kept.
const (
	KeepMinutes = 24 * time.Hour
	KeepHours   = 90 * 24 * time.Hour
)

// A Row has the requests of one workspace in one minute or one hour, or those of one of its keys on one UTC day.
type Row struct {
	Workspace int64
	Interval  Interval
	Key       string // its id for Day, or Forms; else ""
	Start     int64  // Unix seconds, a multiple of Interval
	Counts

	LastUsed int64 // Unix milliseconds of the key's latest request; a store returns 0
}

// Forms is the key id under which all forms of the console are counted, whatever key they were sent with.
const Forms = "console"

// A Query selects the rows of an interval, from the span that holds From up to the span that holds To.
type Query struct {
	Workspace int64
	Interval  Interval
	Key       string // "": any
	From, To  time.Time
}

// A Store keeps rows. Its methods may be called concurrently, also by several processes.
type Store interface {
	// AddUsage adds the counts of the rows to those that are kept of the same workspace, interval, key and start, and
	// updates when each key was used last, all or none.
	AddUsage(ctx context.Context, rows []Row) error

	// Usage returns rows by their start and key. Spans without requests have no row.
	Usage(ctx context.Context, q Query) ([]Row, error)

	// ForgetUsage removes the rows of an interval that start before the instant in Unix seconds, in short transactions. It
	// returns how many they were.
	ForgetUsage(ctx context.Context, interval Interval, before int64) (int, error)
}
