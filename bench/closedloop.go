package main

import (
	"bytes"
	"context"
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

// loadHTTP1 is load over HTTP/1. All callers are one loop that never sleeps: to
// wake a core that does costs the process that is measured more than many a
// request.
func loadHTTP1(ctx context.Context, p *process, w *workload, r *row, warm, long time.Duration) (*sample, error) {
	poll, err := newPoller()
	if err != nil {
		return nil, err
	}
	defer poll.close()
	g := &callers{poll: poll, workload: w, row: r, random: rand.New(rand.NewPCG(7, uint64(time.Now().UnixNano())))}
	nodes := append([]*process{p}, p.twins...)
	for i := range r.callers {
		c := caller{addr: nodes[i%len(nodes)].addr, in: make([]byte, 0, 16<<10), out: make([]byte, 0, 1<<10)}
		if c.fd, err = poll.connect(c.addr, i); err != nil {
			return nil, err
		}
		g.all = append(g.all, c)
	}
	return &g.sample, g.run(ctx, p, warm, long)
}

// callers share a loop.
type callers struct {
	poll     *poller
	workload *workload
	row      *row
	random   *rand.Rand
	all      []caller
	sample   sample
}

// A caller asks one thing after the other on a connection of its own.
type caller struct {
	addr  string
	fd    int    // its connection
	in    []byte // what was read of the answer
	out   []byte // the request
	asked bool
	began time.Time // of the request under way
}

// room returns where the next part of an answer goes.
func (c *caller) room() []byte {
	if len(c.in) == cap(c.in) {
		c.in = append(c.in, 0)[:len(c.in)]
	}
	return c.in[len(c.in):cap(c.in)]
}

// run goes round until the time is over, and measures the processor time at the ends of what counts.
func (g *callers) run(ctx context.Context, p *process, warm, long time.Duration) error {
	for i := range g.all {
		if err := g.ask(&g.all[i]); err != nil {
			return err
		}
	}
	if err := g.until(ctx, time.Now().Add(warm)); err != nil {
		return err
	}
	g.sample.latencies = make([]time.Duration, 0, 1<<16)
	before, err := p.cpu()
	if err != nil {
		return err
	}
	from := time.Now()
	if err := g.until(ctx, from.Add(long)); err != nil {
		return err
	}
	after, err := p.cpu()
	g.sample.cpu, g.sample.elapsed = after-before, time.Since(from)
	return err
}

// until serves the callers until end.
func (g *callers) until(ctx context.Context, end time.Time) error {
	for time.Now().Before(end) {
		if err := ctx.Err(); err != nil {
			return err
		}
		ready, err := g.poll.wait()
		if err != nil {
			return err
		}
		for _, i := range ready {
			if err := g.receive(i); err != nil {
				return err
			}
		}
	}
	return nil
}

func (g *callers) ask(c *caller) error {
	c.in = c.in[:0]
	c.out = g.row.request(c.out[:0], g.workload, g.random)
	c.began = time.Now()
	switch g.row.transport {
	case http10:
		c.out = bytes.Replace(c.out, []byte(" HTTP/1.1\r\n"), []byte(" HTTP/1.0\r\n"), 1)
	case splitHead:
		return g.askInTwo(c)
	}
	return g.poll.write(c.fd, c.out)
}

// askInTwo sends the head in two packets. The first time on a connection the server has the time to see the first of
// them alone, even if it is busy.
func (g *callers) askInTwo(c *caller) error {
	half := len(c.out) / 2
	if err := g.poll.write(c.fd, c.out[:half]); err != nil {
		return err
	}
	if !c.asked {
		c.asked = true
		time.Sleep(5 * time.Millisecond)
	}
	return g.poll.write(c.fd, c.out[half:])
}

// receive reads what has come, and asks again when the answer is complete.
func (g *callers) receive(i int) error {
	c := &g.all[i]
	n, err := g.poll.read(c.fd, c.room())
	if err != nil {
		return err
	}
	c.in = c.in[:len(c.in)+n]
	a, err := parseAnswer(c.in)
	if err != nil || a.body == nil {
		return err
	}
	if status := a.status(); status != g.row.want && (g.row.want != 0 || status/100 != 2) {
		return fmt.Errorf("the answer is %d, not %d: %.300q", status, g.row.want, a.body)
	}
	g.sample.all++
	if g.sample.latencies != nil { // no longer warming up
		g.sample.latencies = append(g.sample.latencies, time.Since(c.began))
	}
	if g.row.transport == http10 { // in which a connection is for one request
		g.poll.disconnect(c.fd)
		if c.fd, err = g.poll.connect(c.addr, i); err != nil {
			return err
		}
	}
	return g.ask(c)
}
