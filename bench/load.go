package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
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

// A window is the time that counts; what is under way at its ends does not.
type window struct{ from, to time.Time }

// load has the row's callers ask the process for the time given, after a short
// warm-up, and returns what was measured. The first answer that is not as it
// should be ends it with an error.
func load(ctx context.Context, p *process, w *world, r *row, long time.Duration) (*sample, error) {
	callers := make([]*caller, r.callers)
	for i := range callers {
		c, err := dial(ctx, p.addr)
		if err != nil {
			return nil, err
		}
		defer c.conn.Close()
		callers[i] = &caller{client: c, world: w, row: r, random: rand.New(rand.NewPCG(uint64(i), uint64(time.Now().UnixNano())))}
	}
	warm := max(long/10, 30*time.Millisecond)
	count := window{from: time.Now().Add(warm), to: time.Now().Add(warm + long)}
	var running sync.WaitGroup
	for _, c := range callers {
		running.Go(func() { c.err = c.run(ctx, count) })
	}
	s := &sample{}
	err := s.watch(ctx, p, count)
	running.Wait()
	for _, c := range callers {
		if c.err != nil {
			return nil, fmt.Errorf("%s: %w", r.name, c.err)
		}
		s.all += c.all
		s.latencies = append(s.latencies, c.latencies...)
	}
	s.requests = len(s.latencies)
	slices.Sort(s.latencies)
	return s, err
}

// watch measures the processor time between the ends of the window.
func (s *sample) watch(ctx context.Context, p *process, count window) error {
	if err := sleepUntil(ctx, count.from); err != nil {
		return err
	}
	before, err := p.cpu()
	if err != nil {
		return err
	}
	if err := sleepUntil(ctx, count.to); err != nil {
		return err
	}
	after, err := p.cpu()
	s.cpu, s.elapsed = after-before, count.to.Sub(count.from)
	return err
}

func sleepUntil(ctx context.Context, t time.Time) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Until(t)):
		return nil
	}
}

// A caller asks one thing after the other on a connection of its own.
type caller struct {
	client *client
	world  *world
	row    *row
	random *rand.Rand

	all       int
	latencies []time.Duration
	err       error
}

func (c *caller) run(ctx context.Context, count window) error {
	for ctx.Err() == nil {
		c.client.out = c.row.request(c.client.out[:0], c.world, c.random)
		began := time.Now()
		a, err := c.client.call()
		if err != nil {
			return err
		}
		ended := time.Now()
		if a.status() != c.row.want {
			return fmt.Errorf("the answer is %d, not %d: %.300q", a.status(), c.row.want, a.body)
		}
		c.all++
		if ended.After(count.to) {
			return nil
		}
		if ended.After(count.from) {
			c.latencies = append(c.latencies, ended.Sub(began))
		}
	}
	return ctx.Err()
}
