package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// results are what a run found.
type results struct {
	Rows []figure `json:"rows"`

	machine, busy string // in words
	sections      []section
}

// A spread is the median of the rounds, and the least and the most.
type spread struct {
	Median float64 `json:"median"`
	Least  float64 `json:"least"`
	Most   float64 `json:"most"`
}

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
	return fmt.Sprintf(format+" ("+format+"–"+format+")", s.Median, s.Least, s.Most)
}

// A figure is a row measured. Times are in microseconds.
type figure struct {
	Name         string  `json:"name"`
	PerSecond    spread  `json:"perSecond"`
	Reference    spread  `json:"referencePerSecond"`
	OfReference  spread  `json:"ofReference"`
	CPU          float64 `json:"cpuMicros"`
	ReferenceCPU float64 `json:"referenceCPUMicros"`
	CPURatio     float64 `json:"referenceCPUOfCPU"` // the reference's processor time as a share of ours
	P50          float64 `json:"p50Micros"`
	P99          float64 `json:"p99Micros"`
	P999         float64 `json:"p999Micros"`
	OfAppends    *spread `json:"ofAppends,omitempty"` // the rate as a multiple of the disk's durable appends
}

// figureOf condenses the rounds of a side beside those of the reference.
func figureOf(name string, ours, reference []*sample) figure {
	at := func(q float64) float64 { return spreadOf(latencies(ours, q)).Median }
	f := figure{
		Name: name, PerSecond: spreadOf(rates(ours)), Reference: spreadOf(rates(reference)), OfReference: spreadOf(quotients(rates(ours), rates(reference))),
		CPU: perRequest(ours), ReferenceCPU: perRequest(reference), P50: at(.5), P99: at(.99), P999: at(.999),
	}
	if f.CPU > 0 {
		f.CPURatio = f.ReferenceCPU / f.CPU
	}
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

// perRequest returns the processor time of a request over all rounds, in
// microseconds: a round alone is too short for the clock that counts it.
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

// row returns the figure of that name, or nil.
func (r *results) row(name string) *figure {
	i := slices.IndexFunc(r.Rows, func(f figure) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	return &r.Rows[i]
}

const resultsFile = "results.json"

func (r *results) saveRows(dir string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, resultsFile), append(text, '\n'), 0o644)
}

// loadRows returns the saved rows. Those of another version of this program are an error.
func loadRows(dir string) (*results, error) {
	text, err := os.ReadFile(filepath.Join(dir, resultsFile))
	if err != nil {
		return nil, err
	}
	r, d := &results{}, json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(r); err != nil {
		return nil, fmt.Errorf("%s: %w", resultsFile, err)
	}
	return r, nil
}
