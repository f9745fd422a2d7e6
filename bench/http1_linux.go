package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"
)

// callers share a loop over all their connections, which goes without the runtime's poller.
type callers struct {
	epoll    int
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

// loadHTTP1 is load over HTTP/1. The loop never sleeps: to wake a core that does costs the process that is measured more
// than many a request.
func loadHTTP1(ctx context.Context, p *process, w *workload, r *row, warm, long time.Duration) (*sample, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	g := &callers{epoll: epoll, workload: w, row: r, random: rand.New(rand.NewPCG(7, uint64(time.Now().UnixNano())))}
	defer g.close()
	nodes := append([]*process{p}, p.twins...)
	for i := range r.callers {
		g.all = append(g.all, caller{addr: nodes[i%len(nodes)].addr, fd: -1, in: make([]byte, 0, 16<<10), out: make([]byte, 0, 1<<10)})
		if err := g.connect(i); err != nil {
			return nil, err
		}
	}
	return &g.sample, g.run(ctx, p, warm, long)
}

func (g *callers) close() {
	for _, c := range g.all {
		_ = unix.Close(c.fd) // nothing more is read of it
	}
	_ = unix.Close(g.epoll)
}

// connect opens the connection of the caller with a number, under which the loop gets to know that it can be read.
func (g *callers) connect(number int) (err error) {
	c := &g.all[number]
	to, err := netip.ParseAddrPort(c.addr)
	if err != nil {
		return err
	}
	if c.fd, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err != nil {
		return err
	}
	if err := unix.Connect(c.fd, &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}); err != nil {
		return fmt.Errorf("connecting to %s: %w", c.addr, err)
	}
	return errors.Join(unix.SetsockoptInt(c.fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1), unix.SetNonblock(c.fd, true),
		unix.EpollCtl(g.epoll, unix.EPOLL_CTL_ADD, c.fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(number)}))
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
	var events [128]unix.EpollEvent
	for time.Now().Before(end) {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := unix.EpollWait(g.epoll, events[:], 0)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
		for _, e := range events[:max(0, n)] {
			if err := g.receive(int(e.Fd)); err != nil {
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
	return c.write(c.out)
}

// askInTwo sends the head in two packets. The first time on a connection the server has the time to see the first of
// them alone, even if it is busy.
func (g *callers) askInTwo(c *caller) error {
	half := len(c.out) / 2
	if err := c.write(c.out[:half]); err != nil {
		return err
	}
	if !c.asked {
		c.asked = true
		time.Sleep(5 * time.Millisecond)
	}
	return c.write(c.out[half:])
}

func (c *caller) write(out []byte) error {
	n, err := unix.Write(c.fd, out)
	if err == nil && n < len(out) {
		err = io.ErrShortWrite
	}
	return err
}

// receive reads what has come for the caller with a number, who asks again when the answer is complete.
func (g *callers) receive(number int) error {
	c := &g.all[number]
	if err := c.read(); err != nil {
		return err
	}
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
		_ = unix.Close(c.fd) // it was read to its end
		if err := g.connect(number); err != nil {
			return err
		}
	}
	return g.ask(c)
}

// read reads what there is of an answer.
func (c *caller) read() error {
	if len(c.in) == cap(c.in) {
		c.in = append(c.in, 0)[:len(c.in)]
	}
	n, err := unix.Read(c.fd, c.in[len(c.in):cap(c.in)])
	switch {
	case errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR):
		return nil
	case err != nil:
		return err
	case n == 0:
		return io.ErrUnexpectedEOF
	}
	c.in = c.in[:len(c.in)+n]
	return nil
}
