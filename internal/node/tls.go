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
	"sync/atomic"
	"time"
)

const (
	rereadCertificate = 10 * time.Second // how soon a changed file is noticed
	handshakeTimeout  = 10 * time.Second // for a handshake
)

// A certificate is a pair of PEM files, which are read again now and then.
type certificate struct {
	cert, key string // paths
	log       *slog.Logger
	pair      atomic.Pointer[tls.Certificate] // the newest pair that could be read
}

// read reads the files. While they do not belong together, since only one of them was
// replaced, the former pair stays.
func (c *certificate) read(context.Context) error {
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		return fmt.Errorf("%s and %s: %w", c.cert, c.key, err)
	}
	if former := c.pair.Swap(&pair); former != nil && !slices.EqualFunc(pair.Certificate, former.Certificate, bytes.Equal) {
		c.log.Info("the certificate was read again", "cert", c.cert, "until", pair.Leaf.NotAfter)
	}
	return nil
}

func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.pair.Load(), nil }

// secure adds TLS to the public listener, if it is configured.
func (n *node) secure(on net.Listener) (net.Listener, error) {
	if n.Config.TLSCert == "" {
		return on, nil
	}
	n.certificate = &certificate{cert: n.Config.TLSCert, key: n.Config.TLSKey, log: n.log}
	if err := n.certificate.read(context.Background()); err != nil {
		return on, n.blameTLS(errors.Unwrap(err))
	}
	return &secureListener{Listener: on, ready: make(chan accepted), config: &tls.Config{
		MinVersion: tls.VersionTLS12, CipherSuites: authenticated(), NextProtos: []string{"h2", "http/1.1"}, GetCertificate: n.certificate.get,
	}}, nil
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
	ready      chan accepted
	handshakes sync.WaitGroup
}

// accepted is what a listener's Accept returns.
type accepted struct {
	conn net.Conn
	err  error
}

// Accept implements net.Listener. After Close it still returns the connections that
// were accepted before, and then an error, once.
func (s *secureListener) Accept() (net.Conn, error) {
	s.begin.Do(func() { go s.accept() })
	next := <-s.ready
	return next.conn, next.err
}

// accept accepts connections, and starts the handshake of each in a goroutine of its
// own. It returns when the listener is closed.
func (s *secureListener) accept() {
	for {
		c, err := s.Listener.Accept()
		if err == nil {
			s.handshakes.Go(func() { s.handshake(tls.Server(c, s.config)) })
			continue
		}
		closed := errors.Is(err, net.ErrClosed)
		if closed {
			s.handshakes.Wait()
		}
		s.ready <- accepted{err: err} // net/http waits before it tries again, and this waits for it
		if closed {
			return
		}
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
	case s.ready <- accepted{conn: c}:
	case <-ctx.Done():
		c.Close() // Accept is no longer called
	}
}
