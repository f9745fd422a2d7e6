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

// results are what results.json holds.
type results struct {
	Machine  machine   `json:"machine"`
	Settings used      `json:"settings"`
	Rows     []figure  `json:"rows"`
	Appends  spread    `json:"appendsPerSecond"` // of 4 KiB, each durable before the next
	Feed     *spread   `json:"feed,omitempty"`   // orders with events, of those without
	Webhooks *delivery `json:"webhooks,omitempty"`
	Memory   *memory   `json:"memory,omitempty"`
	Peers    []contest `json:"peers,omitempty"`
	Redis    *spread   `json:"redis,omitempty"` // the limiter's decisions in Redis, of redis-benchmark's best rate
	Scale    *scale    `json:"scale,omitempty"`

	appends []float64
}

// A machine is described without its name.
type machine struct {
	Cores      int    `json:"cores"`
	Processor  string `json:"processor"`
	Kernel     string `json:"kernel"`
	Go         string `json:"go"`
	FileSystem string `json:"fileSystem"`
}

// used are the settings that shaped the figures.
type used struct {
	Date        string `json:"date"`
	Rounds      int    `json:"rounds"`
	RoundMillis int64  `json:"roundMillis"`
	Pets        int    `json:"pets"`
	Busy        string `json:"loadAverage"` // of the machine before the run, over one minute
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

// A figure is a row measured. Times are in microseconds.
type figure struct {
	Name         string  `json:"name"`
	Callers      int     `json:"callers"`
	PerSecond    spread  `json:"perSecond"`
	Reference    spread  `json:"referencePerSecond"`
	OfReference  spread  `json:"ofReference"`
	CPU          float64 `json:"cpuMicros"`
	ReferenceCPU float64 `json:"referenceCPUMicros"`
	CPURatio     float64 `json:"referenceCPUOfCPU"` // the reference's processor time as a share of ours
	Allocs       float64 `json:"allocs"`
	P50          float64 `json:"p50Micros"`
	P99          float64 `json:"p99Micros"`
	P999         float64 `json:"p999Micros"`
	RSS          float64 `json:"rssMiB"`
	OfAppends    *spread `json:"ofAppends,omitempty"` // the rate as a multiple of the disk's durable appends
}

// A contest is one row measured of several servers in turns: the reference first,
// then the service, then the peers.
type contest struct {
	Row   string   `json:"row"`
	Sides []figure `json:"sides"`
}

// A pairing is the rounds of a row before they become a figure.
type pairing struct {
	ours, references []*sample
	appends          []float64 // the disk's rates
	mallocs          float64
	rss              int64
}

// figure condenses the rounds.
func (p *pairing) figure(r *row) figure {
	f := figure{Name: r.name, Callers: r.callers, RSS: mib(p.rss)}
	f.PerSecond = spreadOf(each(p.ours, (*sample).perSecond))
	f.Reference = spreadOf(each(p.references, (*sample).perSecond))
	f.OfReference = spreadOf(ratios(p.ours, p.references))
	f.CPU, f.ReferenceCPU = perRequest(p.ours), perRequest(p.references)
	if f.CPU > 0 {
		f.CPURatio = f.ReferenceCPU / f.CPU
	}
	all := 0
	for _, s := range p.ours {
		all += s.all
	}
	f.Allocs = p.mallocs / float64(max(1, all))
	at := func(q float64) float64 {
		return spreadOf(each(p.ours, func(s *sample) float64 { return micros(s.quantile(q)) })).Median
	}
	f.P50, f.P99, f.P999 = at(.5), at(.99), at(.999)
	if r.write {
		times := spreadOf(quotients(each(p.ours, (*sample).perSecond), p.appends))
		f.OfAppends = &times
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

func ratios(ours, references []*sample) []float64 {
	return quotients(each(ours, (*sample).perSecond), each(references, (*sample).perSecond))
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

// save writes results.json and RESULTS.md.
func (r *results) save(dir string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, resultsFile), append(text, '\n'), 0o644); err != nil {
		return err
	}
	page, err := os.Create(filepath.Join(dir, "RESULTS.md"))
	if err != nil {
		return err
	}
	r.page(page)
	return page.Close()
}

// loadResults returns the saved results. Those of another version of this program are an error.
func loadResults(dir string) (*results, error) {
	text, err := os.ReadFile(filepath.Join(dir, resultsFile))
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	r := &results{}
	if err := d.Decode(r); err != nil {
		return nil, fmt.Errorf("%s: %w", resultsFile, err)
	}
	return r, nil
}
