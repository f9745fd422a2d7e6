package node

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"example.com/petstore/internal/config"
)

const (
	rereadCertificate = time.Second      // how soon a changed file is noticed
	handshakeTimeout  = 10 * time.Second // for a peer to agree on TLS
)

// A certificate is a pair of PEM files, read again when one of them changes.
type certificate struct {
	cert, key string // paths
	log       *slog.Logger
	now       func() time.Time

	mu      sync.Mutex
	pair    *tls.Certificate
	stamp   [2]stamp
	checked time.Time
}

// A stamp tells whether a file is another than before.
type stamp struct {
	modified time.Time
	size     int64
}

// newCertificate reads the files.
func newCertificate(cert, key string, log *slog.Logger, now func() time.Time) (*certificate, error) {
	c := &certificate{cert: cert, key: key, log: log, now: now}
	c.stamp, c.checked = c.fileStamps(), now()
	pair, err := tls.LoadX509KeyPair(cert, key)
	c.pair = &pair
	return c, err
}

// fileStamps returns the stamps of the files; a file that is not there has none.
func (c *certificate) fileStamps() (s [2]stamp) {
	for i, path := range []string{c.cert, c.key} {
		if info, err := os.Stat(path); err == nil {
			s[i] = stamp{info.ModTime(), info.Size()}
		}
	}
	return s
}

// get returns the newest pair that could be read. While the files do not fit
// together, as between the writing of one and of the other, it is the one
// before.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	if now.Sub(c.checked) < rereadCertificate {
		return c.pair, nil
	}
	c.checked = now
	seen := c.fileStamps()
	if seen == c.stamp {
		return c.pair, nil
	}
	c.stamp = seen
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		c.log.Error("the new certificate cannot be used; the one before stays", "cert", c.cert, "key", c.key, "err", err)
		return c.pair, nil
	}
	c.pair = &pair
	c.log.Info("the certificate was read again", "cert", c.cert, "until", pair.Leaf.NotAfter)
	return c.pair, nil
}

// secure returns the public listener with TLS, if it is set.
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

// authenticated returns the cipher suites of TLS 1.2 that encrypt and authenticate in
// one, with a key that is forgotten: those of CBC have been broken again and again.
func authenticated() (suites []uint16) {
	for _, s := range tls.CipherSuites() {
		if strings.HasPrefix(s.Name, "TLS_ECDHE_") && !strings.Contains(s.Name, "_CBC_") {
			suites = append(suites, s.ID)
		}
	}
	return suites
}

// schemed returns the URL of the public listener with the scheme that it has.
func schemed(c *config.Config, url string) string {
	if c.TLSCert == "" {
		return url
	}
	return "https" + strings.TrimPrefix(url, "http")
}

// blameTLS names the setting whose file is at fault.
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

// A secureListener accepts connections on which TLS is agreed already: what
// comes over them decides how they are served.
type secureListener struct {
	net.Listener
	config  *tls.Config
	begin   sync.Once
	ready   chan net.Conn
	shaking sync.WaitGroup
	ended   chan struct{} // closed when no more come, for the reason err
	err     error
}

func newSecureListener(l net.Listener, config *tls.Config) *secureListener {
	return &secureListener{Listener: l, config: config, ready: make(chan net.Conn), ended: make(chan struct{})}
}

// accept lets every peer agree on TLS in its own time.
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
			s.shaking.Wait() // who came before the end is served
			return
		}
		s.shaking.Go(func() { s.shake(tls.Server(c, s.config)) })
	}
}

func (s *secureListener) shake(c *tls.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), handshakeTimeout)
	defer cancel()
	if err := c.HandshakeContext(ctx); err != nil {
		c.Close()
		return
	}
	select {
	case s.ready <- c:
	case <-ctx.Done():
		c.Close() // nobody accepts any more
	}
}

// Accept implements net.Listener. After Close it goes on until every peer that
// came before has been handed over.
func (s *secureListener) Accept() (net.Conn, error) {
	s.begin.Do(func() { go s.accept() })
	select {
	case c := <-s.ready:
		return c, nil
	case <-s.ended:
		return nil, s.err
	}
}
