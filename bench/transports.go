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

	"golang.org/x/sync/errgroup"
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

// do sends the row's next request and returns the header fields and the body of the answer.
func (r *row) do(ctx context.Context, client *http.Client, p *process, w *workload, random *rand.Rand) (http.Header, []byte, error) {
	request, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(r.request(nil, w, random))))
	if err != nil {
		return nil, nil, err
	}
	request.RequestURI, request.URL.Scheme, request.URL.Host = "", "http", p.addr
	if r.transport == http2TLS {
		request.URL.Scheme, request.URL.Host = "https", p.tlsAddr
	}
	return ask(client, request.WithContext(ctx), r.want)
}

// loadHTTP2 is load over HTTP/2. The client costs as much as the server does, which therefore may wait for it: only
// the processor time says something.
func loadHTTP2(ctx context.Context, p *process, w *workload, r *row, warm, long time.Duration) (*sample, error) {
	var mu sync.Mutex
	s := &sample{elapsed: long} // guarded by mu
	from := time.Now().Add(warm)
	to := from.Add(long)
	all, ctx := errgroup.WithContext(ctx)
	for range http2Conn {
		client := newHTTPClient()
		defer client.CloseIdleConnections()
		for range http2Per {
			all.Go(func() error {
				random := rand.New(rand.NewPCG(rand.Uint64(), 7))
				for began := time.Now(); began.Before(to); began = time.Now() {
					if _, _, err := r.do(ctx, client, p, w, random); err != nil {
						return err
					}
					if now := time.Now(); now.After(from) && now.Before(to) {
						mu.Lock()
						s.latencies = append(s.latencies, now.Sub(began))
						mu.Unlock()
					}
				}
				return nil
			})
		}
	}
	all.Go(func() (err error) {
		s.cpu, err = cpuBetween(ctx, p, from, to)
		return err
	})
	return s, all.Wait()
}

// cpuBetween returns at the second of two times, or when ctx ends, with the processor time that p has used between them.
func cpuBetween(ctx context.Context, p *process, from, to time.Time) (time.Duration, error) {
	var used [2]time.Duration
	for i, moment := range []time.Time{from, to} {
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(time.Until(moment)):
		}
		var err error
		if used[i], err = p.cpu(); err != nil {
			return 0, err
		}
	}
	return used[1] - used[0], nil
}
