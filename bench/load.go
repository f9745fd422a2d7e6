package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
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
	refused   []time.Duration // the latencies of the row's other status, in no order
	unsent    int             // requests that found nobody free to send them
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
//
// All callers are one loop that never sleeps: to wake a core that does costs
// the process that is measured more than many a request.
func load(ctx context.Context, p *process, w *world, r *row, long time.Duration) (_ *sample, err error) {
	poll, err := newPoller()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, poll.close()) }()
	g := &group{poll: poll, world: w, row: r, random: rand.New(rand.NewPCG(7, uint64(time.Now().UnixNano())))}
	for i := range r.callers {
		c, err := dial(ctx, p.addr)
		if err != nil {
			return nil, err
		}
		defer c.conn.Close()
		fd, err := poll.add(c.conn, i)
		if err != nil {
			return nil, err
		}
		g.callers = append(g.callers, caller{client: c, fd: fd})
	}
	warm := max(long/10, 30*time.Millisecond, r.warm)
	g.count = window{from: time.Now().Add(warm), to: time.Now().Add(warm + long)}
	if err := g.run(ctx, p); err != nil {
		return nil, fmt.Errorf("%s: %w", r.name, err)
	}
	g.sample.requests = len(g.sample.latencies)
	slices.Sort(g.sample.latencies)
	return &g.sample, nil
}

// A group is the callers of a row, who share a loop.
type group struct {
	poll    *poller
	world   *world
	row     *row
	random  *rand.Rand
	callers []caller
	count   window
	sample  sample

	idle []int     // callers who may ask, of a row that has a rate
	next time.Time // when the next of them is to
}

// A caller asks one thing after the other on a connection of its own.
type caller struct {
	*client
	fd    int
	began time.Time // of the request under way
}

// run goes round until the window is over, and measures the processor time at
// its ends.
func (g *group) run(ctx context.Context, p *process) error {
	g.next = time.Now()
	for i := range g.callers {
		if err := g.again(i); err != nil {
			return err
		}
	}
	if err := g.until(ctx, g.count.from); err != nil {
		return err
	}
	before, err := p.cpu()
	if err != nil {
		return err
	}
	g.sample.latencies, g.sample.unsent = make([]time.Duration, 0, 1<<16), 0
	g.count.from = time.Now()
	if err := g.until(ctx, g.count.to); err != nil {
		return err
	}
	after, err := p.cpu()
	g.sample.cpu, g.sample.elapsed = after-before, time.Since(g.count.from)
	return err
}

// until serves the callers until end.
func (g *group) until(ctx context.Context, end time.Time) error {
	for time.Now().Before(end) {
		if err := ctx.Err(); err != nil {
			return err
		}
		ready, err := g.poll.wait()
		if err != nil {
			return err
		}
		for _, i := range ready {
			if err := g.hear(i); err != nil {
				return err
			}
		}
		if err := g.send(); err != nil {
			return err
		}
	}
	return nil
}

// again has a caller ask at once, or be free to, if the row has a rate.
func (g *group) again(i int) error {
	if g.row.rate == 0 {
		return g.ask(&g.callers[i])
	}
	g.idle = append(g.idle, i)
	return nil
}

// send sends what is due by the row's rate.
func (g *group) send() error {
	if g.row.rate == 0 {
		return nil
	}
	every := time.Duration(float64(time.Second) / g.row.rate)
	for now := time.Now(); g.next.Before(now); g.next = g.next.Add(every) {
		if len(g.idle) == 0 {
			g.sample.unsent++
			continue
		}
		last := len(g.idle) - 1
		i := g.idle[last]
		g.idle = g.idle[:last]
		if err := g.ask(&g.callers[i]); err != nil {
			return err
		}
	}
	return nil
}

func (g *group) ask(c *caller) error {
	c.in = c.in[:0]
	c.out = g.row.request(c.out[:0], g.world, g.random)
	c.began = time.Now()
	return g.poll.write(c.fd, c.out)
}

// hear reads what has come, and asks again when the answer is complete.
func (g *group) hear(i int) error {
	c := &g.callers[i]
	n, err := g.poll.read(c.fd, c.room())
	if err != nil {
		return err
	}
	c.in = c.in[:len(c.in)+n]
	a, err := parseAnswer(c.in)
	if err != nil || a.body == nil {
		return err
	}
	status := a.status()
	if status != g.row.want && (g.row.also == 0 || status != g.row.also) {
		return fmt.Errorf("the answer is %d, not %d: %.300q", status, g.row.want, a.body)
	}
	g.sample.all++
	g.note(status, time.Since(c.began))
	return g.again(i)
}

// note keeps a latency, if it counts.
func (g *group) note(status int, took time.Duration) {
	switch {
	case g.sample.latencies == nil: // still warming up
	case status == g.row.want:
		g.sample.latencies = append(g.sample.latencies, took)
	default:
		g.sample.refused = append(g.sample.refused, took)
	}
}
