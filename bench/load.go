package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// A sample is what a side did in a round.
type sample struct {
	requests  int           // answered within the measured time
	all       int           // answered at all, the warm-up among them
	elapsed   time.Duration // the measured time
	cpu       time.Duration // that the process used in it
	latencies []time.Duration
}

func (s *sample) perSecond() float64 { return float64(s.requests) / s.elapsed.Seconds() }

// quantile returns the latency that the share q of the requests kept below;
// the latencies are sorted.
func (s *sample) quantile(q float64) time.Duration {
	if len(s.latencies) == 0 {
		return 0
	}
	return s.latencies[min(len(s.latencies)-1, int(q*float64(len(s.latencies))))]
}

// load has the row's callers ask the process for the time given, each again as
// soon as it is answered, after a short warm-up, and returns what was measured.
// The first answer that is not as it should be ends it with an error.
func load(ctx context.Context, p *process, w *workload, r *row, long time.Duration) (s *sample, err error) {
	warm := max(long/10, 30*time.Millisecond, r.warm)
	if r.transport == http2TLS {
		s, err = loadHTTP2(ctx, p, w, r, warm, long)
	} else {
		s, err = loadHTTP1(ctx, p, w, r, warm, long)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.name, err)
	}
	s.requests = len(s.latencies)
	slices.Sort(s.latencies)
	return s, nil
}
