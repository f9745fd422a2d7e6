package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"
)

// A transport is how requests come. All but the plain one are net/http's in the service, too.
type transport string

const (
	plain     transport = ""                 // HTTP/1.1, each request in one packet
	splitHead transport = "head in two"      // HTTP/1.1, each head in two packets
	http10    transport = "HTTP/1.0"         // a connection for each request, as proxies do
	http2TLS  transport = "HTTP/2 over TLS"  // four connections, eight streams at a time on each
	http2Conn           = readers / http2Per // connections
	http2Per            = 8                  // streams at a time on a connection
)

func (t transport) words() string {
	return map[transport]string{
		splitHead: "HTTP/1.1, head in two packets", http10: "HTTP/1.0 from a proxy", http2TLS: "HTTP/2 over TLS",
	}[t]
}

// newHTTPClient returns a client of the standard library for one connection. It takes any certificate: the servers
// are ours.
func newHTTPClient() *http.Client {
	return &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true, DisableCompression: true, MaxConnsPerHost: 1,
	}}
}

// newRequest returns the row's next request for net/http's client.
func (r *row) newRequest(ctx context.Context, p *process, w *workload, random *rand.Rand) (*http.Request, error) {
	text := r.request(nil, w, random)
	request, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(text)))
	if err != nil {
		return nil, err
	}
	request.RequestURI, request.URL.Scheme, request.URL.Host = "", "http", p.addr
	if r.transport == http2TLS {
		request.URL.Scheme, request.URL.Host = "https", p.tlsAddr
	}
	return request.WithContext(ctx), nil
}

// do sends the row's next request and returns the header fields and the body of the answer.
func (r *row) do(ctx context.Context, client *http.Client, p *process, w *workload, random *rand.Rand) (http.Header, []byte, error) {
	request, err := r.newRequest(ctx, p, w, random)
	if err != nil {
		return nil, nil, err
	}
	return ask(client, request, r.want)
}

// loadHTTP2 is load over HTTP/2. The client costs as much as the server does, which therefore may wait for it: only
// the processor time says something.
func loadHTTP2(ctx context.Context, p *process, w *workload, r *row, warm, long time.Duration) (*sample, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	g := &streams{process: p, row: r, workload: w, from: time.Now().Add(warm)}
	g.to = g.from.Add(long)
	var running sync.WaitGroup
	for range http2Conn {
		client := newHTTPClient()
		defer client.CloseIdleConnections()
		for range http2Per {
			running.Go(func() {
				if err := g.ask(ctx, client); err != nil {
					stop(err)
				}
			})
		}
	}
	err := g.measureCPU(ctx)
	running.Wait()
	if cause := context.Cause(ctx); cause != nil {
		return nil, cause
	}
	return &g.sample, err
}

// streams are callers over HTTP/2.
type streams struct {
	process  *process
	row      *row
	from, to time.Time

	workload *workload

	mu     sync.Mutex
	sample sample // guarded by mu
}

// ask asks until the time is over.
func (g *streams) ask(ctx context.Context, client *http.Client) error {
	random := rand.New(rand.NewPCG(rand.Uint64(), 7))
	for {
		began := time.Now()
		if began.After(g.to) {
			return nil
		}
		if _, _, err := g.row.do(ctx, client, g.process, g.workload, random); err != nil {
			return err
		}
		g.mu.Lock()
		g.sample.all++
		if now := time.Now(); now.After(g.from) && now.Before(g.to) {
			g.sample.latencies = append(g.sample.latencies, now.Sub(began))
		}
		g.mu.Unlock()
	}
}

// measureCPU returns at the end of the time, or when ctx ends.
func (g *streams) measureCPU(ctx context.Context) error {
	var at [2]time.Duration
	for i, moment := range []time.Time{g.from, g.to} {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Until(moment)):
		}
		var err error
		if at[i], err = g.process.cpu(); err != nil {
			return err
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sample.cpu, g.sample.elapsed = at[1]-at[0], g.to.Sub(g.from)
	return nil
}
