package node

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"example.com/petstore/internal/config"
)

const (
	rereadCertificate = 10 * time.Second // how soon a changed file is noticed
	handshakeTimeout  = 10 * time.Second // for a handshake
)

// A certificate is a pair of PEM files, which are read again now and then.
type certificate struct {
	cert, key string // paths
	log       *slog.Logger
	now       func() time.Time

	mu      sync.Mutex
	pair    *tls.Certificate
	checked time.Time
}

// newCertificate reads the files.
func newCertificate(cert, key string, log *slog.Logger, now func() time.Time) (*certificate, error) {
	pair, err := tls.LoadX509KeyPair(cert, key)
	return &certificate{cert: cert, key: key, log: log, now: now, pair: &pair, checked: now()}, err
}

// get returns the newest pair that could be read. While the files do not belong
// together, since only one of them was replaced, that is the former pair.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	if now.Sub(c.checked) < rereadCertificate {
		return c.pair, nil
	}
	c.checked = now
	switch pair, err := tls.LoadX509KeyPair(c.cert, c.key); {
	case err != nil:
		c.log.Error("the new certificate cannot be used; the one before stays", "cert", c.cert, "key", c.key, "err", err)
	case !slices.EqualFunc(pair.Certificate, c.pair.Certificate, bytes.Equal):
		c.pair = &pair
		c.log.Info("the certificate was read again", "cert", c.cert, "until", pair.Leaf.NotAfter)
	}
	return c.pair, nil
}

// secure adds TLS to the public listener, if it is configured.
func (n *node) secure(on net.Listener) (net.Listener, error) {
	if n.Config.TLSCert == "" {
		return on, nil
	}
	c, err := newCertificate(n.Config.TLSCert, n.Config.TLSKey, n.log, time.Now)
	if err != nil {
		return on, n.blameTLS(err)
	}
	return newSecureListener(on, &tls.Config{
		MinVersion: tls.VersionTLS12, CipherSuites: authenticated(), NextProtos: []string{"h2", "http/1.1"}, GetCertificate: c.get,
	}), nil
}

// authenticated returns the cipher suites of TLS 1.2 with authenticated encryption and
// forward secrecy. Those with CBC were broken several times.
func authenticated() (suites []uint16) {
	for _, s := range tls.CipherSuites() {
		if strings.HasPrefix(s.Name, "TLS_ECDHE_") && !strings.Contains(s.Name, "_CBC_") {
			suites = append(suites, s.ID)
		}
	}
	return suites
}

// withScheme returns the URL of the public listener with https if it has TLS.
func withScheme(c *config.Config, url string) string {
	if c.TLSCert == "" {
		return url
	}
	return "https" + strings.TrimPrefix(url, "http")
}

// blameTLS returns an error that names the setting of the faulty file.
func (n *node) blameTLS(err error) error {
	flag := "tls-cert"
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		if e.Path == n.Config.TLSKey {
			flag = "tls-key"
		}
		err = fmt.Errorf("%s cannot be read: %w", e.Path, e.Err)
	}
	return n.Origins.Fault(flag, "%v", err)
}

// A secureListener accepts connections after their TLS handshake, since the negotiated
// protocol decides how they are served.
type secureListener struct {
	net.Listener
	config     *tls.Config
	begin      sync.Once
	ready      chan net.Conn
	handshakes sync.WaitGroup
	ended      chan struct{} // closed when there are no more connections, because of err
	err        error
}

func newSecureListener(l net.Listener, config *tls.Config) *secureListener {
	return &secureListener{Listener: l, config: config, ready: make(chan net.Conn), ended: make(chan struct{})}
}

// accept accepts connections, and starts the handshake of each in a goroutine of its
// own.
func (s *secureListener) accept() {
	defer close(s.ended)
	for {
		c, err := s.Listener.Accept()
		if err != nil {
			if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Temporary() { //nolint:staticcheck // as net/http does: no descriptors are left
				time.Sleep(10 * time.Millisecond)
				continue
			}
			s.err = err
			s.handshakes.Wait() // connections that were accepted before are served
			return
		}
		s.handshakes.Go(func() { s.handshake(tls.Server(c, s.config)) })
	}
}

func (s *secureListener) handshake(c *tls.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), handshakeTimeout)
	defer cancel()
	if err := c.HandshakeContext(ctx); err != nil {
		c.Close()
		return
	}
	select {
	case s.ready <- c:
	case <-ctx.Done():
		c.Close() // Accept is no longer called
	}
}

// Accept implements net.Listener. After Close it still returns the connections that
// were accepted before.
func (s *secureListener) Accept() (net.Conn, error) {
	s.begin.Do(func() { go s.accept() })
	select {
	case c := <-s.ready:
		return c, nil
	case <-s.ended:
		return nil, s.err
	}
}
