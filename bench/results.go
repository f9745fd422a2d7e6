package main

import (
	"fmt"
	"slices"
	"time"
)

// A spread is the median of the rounds, and the least and the most.
type spread struct{ median, least, most float64 }

func spreadOf(all []float64) spread {
	if len(all) == 0 {
		return spread{}
	}
	sorted := slices.Sorted(slices.Values(all))
	middle := sorted[len(sorted)/2]
	if len(sorted)%2 == 0 {
		middle = (middle + sorted[len(sorted)/2-1]) / 2
	}
	return spread{middle, sorted[0], sorted[len(sorted)-1]}
}

// ranged writes a median with what it lies between.
func (s spread) ranged(format string) string {
	return fmt.Sprintf(format+" ("+format+"–"+format+")", s.median, s.least, s.most)
}

// A figure is what a side did in all rounds. Times are in microseconds.
type figure struct {
	perSecond, reference, ofReference spread
	cpu, referenceCPU                 float64 // of a request
	cpuRatio                          float64 // the reference's processor time as a share of ours
	p50, p99, p999                    float64
	ofAppends                         spread // of a write, the rate as a multiple of the disk's durable appends
}

// figureOf condenses the rounds of a side beside those of the reference.
func figureOf(ours, reference []*sample) figure {
	at := func(q float64) float64 { return spreadOf(latencies(ours, q)).median }
	f := figure{
		perSecond: spreadOf(rates(ours)), reference: spreadOf(rates(reference)), ofReference: spreadOf(quotients(rates(ours), rates(reference))),
		cpu: perRequest(ours), referenceCPU: perRequest(reference), p50: at(.5), p99: at(.99), p999: at(.999),
	}
	f.cpuRatio = f.referenceCPU / max(f.cpu, .001)
	return f
}

func each[T any](all []T, f func(T) float64) []float64 {
	out := make([]float64, len(all))
	for i, v := range all {
		out[i] = f(v)
	}
	return out
}

func rates(all []*sample) []float64 { return each(all, (*sample).perSecond) }

// latencies returns a quantile of each round, in microseconds.
func latencies(all []*sample, q float64) []float64 {
	return each(all, func(s *sample) float64 { return micros(s.quantile(q)) })
}

// quotients divides each of a by the one of b at its place.
func quotients(a, b []float64) []float64 {
	out := make([]float64, len(a))
	for i := range a {
		out[i] = a[i] / b[i]
	}
	return out
}

// perRequest returns the processor time of a request over all rounds, in microseconds.
func perRequest(all []*sample) float64 {
	var cpu time.Duration
	n := 0
	for _, s := range all {
		cpu += s.cpu
		n += s.requests
	}
	return micros(cpu) / float64(max(1, n))
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }
func mib(n int64) float64            { return float64(n) / (1 << 20) }
