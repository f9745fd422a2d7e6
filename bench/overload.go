package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// A pressure is what the service did under one load. Times are in microseconds.
type pressure struct {
	Row     string  `json:"row"`
	Times   float64 `json:"times"`   // of the capacity, or of the callers who reach it
	Open    bool    `json:"open"`    // requests come at a rate, whatever becomes of them
	Callers int     `json:"callers"` // connections
	Offered float64 `json:"offeredPerSecond"`
	Good    float64 `json:"goodPerSecond"`
	OfPeak  float64 `json:"goodOfPeak"`
	Refused float64 `json:"refusedPerSecond"`
	Unsent  float64 `json:"unsentPerSecond"` // no connection was free: the client would have had to wait
	P50     float64 `json:"p50Micros"`
	P99     float64 `json:"p99Micros"`
	Slow    float64 `json:"refusedP99Micros"`
	RSS     float64 `json:"rssMiB"`
}

// The loads of a test of overload.
const (
	mostCallers = 2048 // connections for requests at a rate
	mostTimes   = 5
)

// measureOverload finds the capacity and then offers multiples of it: orders at
// a rate, and orders and reads by callers who ask again at once.
func (b *bench) measureOverload(ctx context.Context) ([]pressure, error) {
	var all []pressure
	for _, r := range rows() {
		if r.name != "order" && r.name != "get" {
			continue
		}
		r.also = 503
		knee, peak, err := b.capacity(ctx, &r)
		if err != nil {
			return nil, err
		}
		for times := 1; times <= mostTimes; times++ {
			one, err := b.press(ctx, &r, pressure{Times: float64(times), Callers: times * knee}, peak)
			if err != nil {
				return nil, err
			}
			all = append(all, *one)
		}
		if !r.write {
			continue // the load's core cannot offer several times what the server's reads
		}
		for times := 1; times <= mostTimes; times++ {
			one, err := b.press(ctx, &r, pressure{Times: float64(times), Open: true, Callers: mostCallers}, peak)
			if err != nil {
				return nil, err
			}
			all = append(all, *one)
		}
	}
	return all, nil
}

// capacity returns the most requests a second that callers get answered, and
// how many callers come within a twentieth of it.
func (b *bench) capacity(ctx context.Context, r *row) (callers int, peak float64, err error) {
	counts := []int{16, 32, 64, 128, 256}
	rates := make([]float64, len(counts))
	for range 3 {
		for i, n := range counts {
			with := *r
			with.callers = n
			s, err := load(ctx, b.server, b.world, &with, b.round)
			if err != nil {
				return 0, 0, err
			}
			rates[i] += s.perSecond() / 3
		}
	}
	peak = slices.Max(rates)
	i := slices.IndexFunc(rates, func(rate float64) bool { return rate >= .95*peak })
	say("%s: %.0f a second at most, nearly so with %d callers", r.name, peak, counts[i])
	return counts[i], peak, nil
}

// press measures one load, twice as long as a round, after a second in which the
// service can find its measure.
func (b *bench) press(ctx context.Context, r *row, one pressure, peak float64) (*pressure, error) {
	with := *r
	with.callers, with.warm = one.Callers, time.Second
	if one.Open {
		with.rate = one.Times * peak
	}
	say("%s at %g times the capacity, at a rate: %v", r.name, one.Times, one.Open)
	s, err := load(ctx, b.server, b.world, &with, 2*b.round)
	if err != nil {
		return nil, err
	}
	rss, _, err := b.server.memory()
	if err != nil {
		return nil, err
	}
	slices.Sort(s.refused)
	turned := sample{latencies: s.refused}
	seconds := s.elapsed.Seconds()
	one.Row, one.RSS = r.name, mib(rss)
	one.Good, one.Refused, one.Unsent = s.perSecond(), float64(len(s.refused))/seconds, float64(s.unsent)/seconds
	one.Offered = one.Good + one.Refused + one.Unsent
	one.OfPeak = one.Good / peak
	one.P50, one.P99, one.Slow = micros(s.quantile(.5)), micros(s.quantile(.99)), micros(turned.quantile(.99))
	return &one, b.server.log.Truncate(0)
}

// pressures returns the table of the loads.
func (r *results) pressures() table {
	t := table{{"load", "connections", "offered/s", "done/s", "of the peak", "refused/s", "not sent/s", "p50 ms", "p99 ms", "refused p99 ms", "RSS MiB"}}
	for _, p := range r.Overload {
		what := fmt.Sprintf("%s, %g × the callers, at once again", p.Row, p.Times)
		if p.Open {
			what = fmt.Sprintf("%s, %g × the capacity, at a rate", p.Row, p.Times)
		}
		slow := ""
		if p.Refused > 0 {
			slow = fmt.Sprintf("%.1f", p.Slow/1000)
		}
		t.add(what, fmt.Sprint(p.Callers), fmt.Sprintf("%.0f", p.Offered), fmt.Sprintf("%.0f", p.Good), fmt.Sprintf("%.2f", p.OfPeak),
			fmt.Sprintf("%.0f", p.Refused), fmt.Sprintf("%.0f", p.Unsent), fmt.Sprintf("%.1f", p.P50/1000), fmt.Sprintf("%.1f", p.P99/1000),
			slow, fmt.Sprintf("%.0f", p.RSS))
	}
	return t
}
