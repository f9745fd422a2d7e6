package main

import (
	"cmp"
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
	Floor   float64 `json:"floorOfPeak"` // of as many callers who ask bare net/http, at once again
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
	pressTries  = 5 // of each, of which the median counts

	// settles is for how long a load at a rate lasts before it counts: longer than
	// the service takes a crowd for one that passes, see gateBurst in internal/httpapi.
	settles = 4 * time.Second
)

// measureOverload finds the capacity and then offers multiples of it: orders at
// a rate, and orders and reads by callers who ask again at once.
func (b *bench) measureOverload(ctx context.Context) ([]pressure, error) {
	var all []pressure
	for _, r := range rows() {
		if r.name != "order" && r.name != "get" {
			continue
		}
		more, err := b.pressRow(ctx, &r)
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	return all, nil
}

// pressRow puts a row under each load. What is done is compared with the peak
// just before and just after, since the peak moves: other work on the machine
// disturbs it, and a shop with more orders is slower.
func (b *bench) pressRow(ctx context.Context, r *row) ([]pressure, error) {
	if err := b.mirror(ctx, r); err != nil {
		return nil, err
	}
	knee, most, err := b.capacity(ctx, r)
	if err != nil {
		return nil, err
	}
	multiples := []int{1, 2, mostTimes}
	var loads []pressure
	for _, times := range multiples {
		loads = append(loads, pressure{Times: float64(times), Callers: times * knee})
	}
	if r.write { // the load's core cannot offer several times the reads that the server's answers
		for _, times := range multiples {
			loads = append(loads, pressure{Times: float64(times), Open: true, Callers: mostCallers})
		}
	}
	before, err := b.peak(ctx, b.server, r, most)
	if err != nil {
		return nil, err
	}
	for i := range loads {
		tries := make([]pressure, pressTries)
		for try := range tries {
			tries[try] = loads[i]
			if before, err = b.pressBeside(ctx, r, &tries[try], before, most); err != nil {
				return nil, err
			}
		}
		slices.SortFunc(tries, func(a, b pressure) int { return cmp.Compare(a.OfPeak, b.OfPeak) })
		loads[i] = tries[len(tries)/2]
	}
	return loads, nil
}

// pressBeside measures one load beside the peak before it, and returns the peak
// after it. What as many connections cost net/http alone is measured the same way.
func (b *bench) pressBeside(ctx context.Context, r *row, one *pressure, before float64, most int) (after float64, err error) {
	if err := b.press(ctx, r, one, before); err != nil {
		return 0, err
	}
	if after, err = b.peak(ctx, b.server, r, most); err != nil {
		return 0, err
	}
	one.OfPeak = one.Good / ((before + after) / 2)
	var floor [3]float64
	for i, callers := range [...]int{most, one.Callers, most} {
		if floor[i], err = b.peak(ctx, b.floor, r, callers); err != nil {
			return 0, fmt.Errorf("the floor: %w", err)
		}
	}
	one.Floor = floor[1] / ((floor[0] + floor[2]) / 2)
	return after, nil
}

// capacity returns how many callers get the most requests a second answered, and
// how many come within a twentieth of it.
func (b *bench) capacity(ctx context.Context, r *row) (knee, most int, err error) {
	counts := []int{16, 32, 64, 128, 256}
	rates := make([]float64, len(counts))
	for range 3 {
		for i, n := range counts {
			rate, err := b.peak(ctx, b.server, r, n)
			if err != nil {
				return 0, 0, err
			}
			rates[i] += rate / 3
		}
	}
	peak := slices.Max(rates)
	knee = counts[slices.IndexFunc(rates, func(rate float64) bool { return rate >= .95*peak })]
	most = counts[slices.Index(rates, peak)]
	say("%s: %.0f a second at most, with %d callers, and nearly so with %d", r.name, peak, most, knee)
	return knee, most, nil
}

// peak returns how many requests a second callers get answered who ask again at
// once.
func (b *bench) peak(ctx context.Context, p *process, r *row, callers int) (float64, error) {
	with := *r
	with.callers, with.also = callers, 503
	s, err := load(ctx, p, b.world, &with, b.round)
	if err != nil {
		return 0, err
	}
	return s.perSecond(), nil
}

// press measures one load, twice as long as a round, when it has settled.
func (b *bench) press(ctx context.Context, r *row, one *pressure, peak float64) error {
	with := *r
	with.callers, with.also, with.warm = one.Callers, 503, time.Second
	if one.Open {
		with.rate, with.warm = one.Times*peak, settles
	}
	say("%s at %g times the capacity, at a rate: %v", r.name, one.Times, one.Open)
	s, err := load(ctx, b.server, b.world, &with, 2*b.round)
	if err != nil {
		return err
	}
	rss, _, err := b.server.memory()
	if err != nil {
		return err
	}
	slices.Sort(s.refused)
	turned := sample{latencies: s.refused}
	seconds := s.elapsed.Seconds()
	one.Row, one.RSS = r.name, mib(rss)
	one.Good, one.Refused, one.Unsent = s.perSecond(), float64(len(s.refused))/seconds, float64(s.unsent)/seconds
	one.Offered = one.Good + one.Refused + one.Unsent
	one.P50, one.P99, one.Slow = micros(s.quantile(.5)), micros(s.quantile(.99)), micros(turned.quantile(.99))
	return b.server.log.Truncate(0)
}

// pressures returns the table of the loads.
func (r *results) pressures() table {
	t := table{{"load", "connections", "offered/s", "done/s", "of the peak", "bare net/http", "refused/s", "not sent/s", "p50 ms", "p99 ms", "refused p99 ms", "RSS MiB"}}
	for _, p := range r.Overload {
		what := fmt.Sprintf("%s, %g × the callers, at once again", p.Row, p.Times)
		if p.Open {
			what = fmt.Sprintf("%s, %g × the capacity, at a rate", p.Row, p.Times)
		}
		slow := ""
		if p.Refused > 0 {
			slow = fmt.Sprintf("%.1f", p.Slow/1000)
		}
		t.add(what, fmt.Sprint(p.Callers), fmt.Sprintf("%.0f", p.Offered), fmt.Sprintf("%.0f", p.Good), fmt.Sprintf("%.2f", p.OfPeak), fmt.Sprintf("%.2f", p.Floor),
			fmt.Sprintf("%.0f", p.Refused), fmt.Sprintf("%.0f", p.Unsent), fmt.Sprintf("%.1f", p.P50/1000), fmt.Sprintf("%.1f", p.P99/1000),
			slow, fmt.Sprintf("%.0f", p.RSS))
	}
	return t
}
