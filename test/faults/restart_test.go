//go:build linux

package faults

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/petstore/test/servertest"
)

// A drill is how the clients come while a server is restarted under them.
type drill struct {
	times  int  // restarts
	secure bool // over TLS
	http2  bool
}

// transport is the one of a client. Half of the clients keep their connections,
// and the others open one for each request: those see what a client library
// would hide by trying again.
func (d drill) transport(client int, trust *x509.CertPool) *http.Transport {
	var p http.Protocols
	p.SetHTTP1(!d.http2)
	p.SetHTTP2(d.http2 && d.secure)
	p.SetUnencryptedHTTP2(d.http2 && !d.secure)
	return &http.Transport{
		DisableKeepAlives: client%2 == 0, Protocols: &p,
		TLSClientConfig: &tls.Config{RootCAs: trust, MinVersion: tls.VersionTLS12},
	}
}

// A herd sends requests from many clients. None of them may fail.
type herd struct {
	url, key string
	sent     atomic.Int64
	mu       sync.Mutex
	failed   []error
	stop     context.CancelFunc
	all      sync.WaitGroup
}

// clients is how many there are.
const clients = 16

func startHerd(url, key string, d drill, trust *x509.CertPool) *herd {
	ctx, stop := context.WithCancel(context.Background())
	h := &herd{url: url, key: key, stop: stop}
	for i := range clients {
		c := &http.Client{Timeout: servertest.Patience, Transport: d.transport(i, trust)}
		h.all.Go(func() {
			for j := 0; ctx.Err() == nil; j++ {
				h.one(c, i, j)
			}
			c.CloseIdleConnections()
		})
	}
	return h
}

func (h *herd) one(c *http.Client, client, number int) {
	if err := h.request(c, client, number); err != nil {
		h.mu.Lock()
		h.failed = append(h.failed, err)
		h.mu.Unlock()
	}
	h.sent.Add(1)
}

// rest returns after a while, or when ctx ends.
func rest(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

func (h *herd) request(c *http.Client, client, number int) error {
	method, path, body, once := "GET", "/pets?limit=5", "", ""
	if number%4 == 0 {
		method, path, body, once = "POST", "/categories", `{"name":"Kind"}`, fmt.Sprintf("%d-%d", client, number)
	}
	_, err := exchange(context.Background(), c, method, h.url+path, h.key, body, once)
	return err
}

// end returns what failed.
func (h *herd) end() error {
	h.stop()
	h.all.Wait()
	if len(h.failed) == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d requests failed, such as: %w", len(h.failed), h.sent.Load(), h.failed[0])
}

// more waits until n more requests are answered.
func (h *herd) more(n int64) {
	for until, deadline := h.sent.Load()+n, time.Now().Add(servertest.Patience); h.sent.Load() < until && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond) // between two polls
	}
}

// restarts stops and starts a server under load, which inherits its socket as
// from systemd. It returns how many requests were answered, and an error if one
// failed.
func restarts(binary servertest.Binary, dir string, d drill) (int64, error) {
	k, err := binary.NewShop(dir, "shop")
	if err != nil {
		return 0, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	socket, err := l.(*net.TCPListener).File()
	if err != nil {
		return 0, err
	}
	defer socket.Close()
	options := servertest.Options{
		Dir: dir, Files: []*os.File{socket}, Shell: "export LISTEN_PID=$$", Flags: []string{"--log-level=warn", "--h2c=on"},
		Env: []string{"LISTEN_FDS=1", "LISTEN_FDNAMES=petstore.socket"},
	}
	url := "http://" + l.Addr().String()
	var trust *x509.CertPool
	if d.secure {
		url = "https://" + l.Addr().String()
		if trust, err = writeCertificate(dir); err != nil {
			return 0, err
		}
		options.Flags = append(options.Flags, "--tls-cert=cert.pem", "--tls-key=key.pem")
	}
	server, err := binary.Serve(options)
	if err != nil {
		return 0, err
	}
	h := startHerd(url, k.Key, d, trust)
	for range d.times {
		h.more(200)
		if err = server.Stop(); err != nil {
			break
		}
		if server, err = binary.Serve(options); err != nil {
			return 0, errors.Join(err, h.end())
		}
	}
	h.more(200)
	err = errors.Join(err, h.end())
	return h.sent.Load(), errors.Join(err, server.Stop())
}

// TestRestarts has three or five of them, and 50 in a long campaign, in which clients come in all ways.
func TestRestarts(t *testing.T) {
	drills := map[string]drill{"HTTP/1.1": {times: 5}, "HTTP/2 over TLS": {times: 3, http2: true, secure: true}}
	if *soak > 0 || *volume > 0 {
		drills = map[string]drill{
			"HTTP/1.1": {times: 50}, "HTTP/1.1 over TLS": {times: 50, secure: true}, "HTTP/2": {times: 50, http2: true}, "HTTP/2 over TLS": {times: 50, http2: true, secure: true},
		}
	}
	for name, d := range drills {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sent, err := restarts(petstore, t.TempDir(), d)
			must(t, err)
			t.Logf("%d restarts: %d requests, none failed", d.times, sent)
		})
	}
}
