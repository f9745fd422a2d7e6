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
	"testing"
	"time"

	"example.com/petstore/internal/processtest"
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

// start starts clients for a shop. Each fourth request is a write.
func (d drill) start(url, key string, trust *x509.CertPool) *servertest.Herd {
	var transports []*http.Transport
	for client := range buyersAtOnce {
		transports = append(transports, d.transport(client, trust))
	}
	return servertest.StartHerd(transports, func(client, number int) (servertest.Request, int) {
		if number%4 == 0 {
			return servertest.Request{
				Method: http.MethodPost, URL: url + "/categories", Key: key, Body: `{"name":"Kind"}`, Once: fmt.Sprintf("%d-%d", client, number),
			}, http.StatusCreated
		}
		return servertest.Request{Method: http.MethodGet, URL: url + "/pets?limit=5", Key: key}, http.StatusOK
	})
}

// rest returns after a while, or when ctx ends.
func rest(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// inherit returns the options of a server that inherits a socket as from systemd.
func inherit(dir string, socket *os.File) servertest.Options {
	return servertest.Options{
		Dir: dir, Files: []*os.File{socket}, Shell: "export LISTEN_PID=$$", Flags: []string{"--log-level=warn", "--h2c=on"},
		Env: []string{"LISTEN_FDS=1", "LISTEN_FDNAMES=petstore.socket"},
	}
}

// restarts stops and starts a server under load, which inherits its socket. It returns
// how many requests were answered, and an error if one failed.
func (d drill) restarts(t *testing.T) (sent int64, err error) {
	dir := t.TempDir()
	key := petstore.Shop(t, dir, "shop").Key
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	socket, err := l.(*net.TCPListener).File()
	must(t, err)
	defer socket.Close()
	options, url, trust := inherit(dir, socket), "http://"+l.Addr().String(), x509.NewCertPool()
	if d.secure {
		url = "https://" + l.Addr().String()
		cert, _, err := processtest.WriteCertificate(dir, "petstore")
		must(t, err)
		text, err := os.ReadFile(cert)
		must(t, err)
		trust.AppendCertsFromPEM(text)
		options.Flags = append(options.Flags, "--tls-cert=cert.pem", "--tls-key=key.pem")
	}
	server := petstore.Start(t, options)
	h := d.start(url, key, trust)
	defer func() {
		n, failed := h.End()
		sent, err = n, errors.Join(err, failed, server.Stop())
	}()
	for range d.times {
		h.More(200)
		if err := server.Stop(); err != nil {
			return 0, err
		}
		if server, err = petstore.Serve(options); err != nil {
			return 0, err
		}
	}
	h.More(200)
	return 0, nil
}

// TestRestarts has two or three of them, and 50 in a long campaign, in which clients come in all ways.
func TestRestarts(t *testing.T) {
	t.Parallel()
	drills := map[string]drill{"HTTP/1.1": {times: 3}, "HTTP/2 over TLS": {times: 2, http2: true, secure: true}}
	if *soak > 0 || *volume > 0 {
		drills = map[string]drill{
			"HTTP/1.1": {times: 50}, "HTTP/1.1 over TLS": {times: 50, secure: true}, "HTTP/2": {times: 50, http2: true}, "HTTP/2 over TLS": {times: 50, http2: true, secure: true},
		}
	}
	for name, d := range drills {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sent, err := d.restarts(t)
			must(t, err)
			t.Logf("%d restarts: %d requests, none failed", d.times, sent)
		})
	}
}
