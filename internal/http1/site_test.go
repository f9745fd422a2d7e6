package http1

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.com/petstore/internal/http1/http1test"
	"example.com/petstore/internal/processtest"
)

// A site counts what is posted to /categories, and serves the count.
type site struct {
	server *http.Server
	front  *Front
	addr   string
	made   atomic.Int64
	hold   atomic.Pointer[chan struct{}] // if set, every POST waits for it to close
}

// holdWrites makes every POST wait for release.
func (s *site) holdWrites() (release func()) {
	held := make(chan struct{})
	s.hold.Store(&held)
	return func() {
		s.hold.Store(nil)
		close(held)
	}
}

const mostBody = 64 << 10

// ServeHTTP answers with JSON, or with a status alone.
func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header()["X-Request-Id"] = r.Header["X-Request-Id"]
	if r.ProtoMajor == 1 && (r.ProtoMinor == 0 || len(r.TransferEncoding) > 0) || r.Method == "PRI" {
		w.Header().Set("Connection", "close")
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostBody))
	tooLarge, _ := errors.AsType[*http.MaxBytesError](err)
	switch {
	case tooLarge != nil:
		answer(w, http.StatusRequestEntityTooLarge, "")
	case err != nil:
		answer(w, http.StatusBadRequest, err.Error())
	case r.Method == http.MethodPost && r.URL.Path == "/categories":
		if held := s.hold.Load(); held != nil {
			<-*held
		}
		answer(w, http.StatusCreated, fmt.Sprint(s.made.Add(1), " ", strings.TrimSpace(string(body))))
	case r.Method == http.MethodGet && (r.URL.Path == "/account" || r.URL.Path == "/categories"):
		answer(w, http.StatusOK, fmt.Sprint(s.made.Load()))
	case r.Method == http.MethodOptions:
		w.WriteHeader(http.StatusNoContent)
	default:
		answer(w, http.StatusNotFound, "")
	}
}

func answer(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json") // net/http's refusals have another
	w.Header().Set("Content-Length", fmt.Sprint(len(body)))
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

// newSite returns a site that nobody serves yet.
func newSite() *site {
	s := &site{}
	s.server = &http.Server{
		Handler: s, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: 30 * time.Second,
		IdleTimeout: 2 * time.Minute, DisableGeneralOptionsHandler: true, Protocols: new(http.Protocols),
	}
	s.server.Protocols.SetHTTP1(true)
	s.server.Protocols.SetHTTP2(true)
	s.server.Protocols.SetUnencryptedHTTP2(true)
	s.front = New(s.server, Options{Plain: anyPet, NotPlain: "X-Long", Malformed: func(w http.ResponseWriter, _ *http.Request, status int) {
		answer(w, status, "malformed")
	}})
	return s
}

// openSite serves a site.
func openSite(t *testing.T) *site {
	t.Helper()
	s := newSite()
	s.serve(t, s.front.Listener)
	return s
}

func (s *site) serve(t *testing.T, wrap func(net.Listener) net.Listener) {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	server.Config = s.server
	server.Listener = wrap(server.Listener)
	server.Start()
	t.Cleanup(server.Close)
	s.addr = server.Listener.Addr().String()
}

// onBothWays runs a test on a site, and on one that net/http serves alone.
func onBothWays(t *testing.T, test func(t *testing.T, s *site)) {
	t.Helper()
	for name, wrap := range map[string]func(*site) func(net.Listener) net.Listener{
		"plain way": func(s *site) func(net.Listener) net.Listener { return s.front.Listener },
		"net/http":  func(*site) func(net.Listener) net.Listener { return func(l net.Listener) net.Listener { return l } },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite()
			s.serve(t, wrap(s))
			test(t, s)
		})
	}
}

func (s *site) dial(t *testing.T) *http1test.Wire {
	t.Helper()
	return http1test.Dial(t, s.addr)
}

// numbers returns how many connections net/http does not have yet, and how many of
// them are answering.
func (s *site) numbers() (conns, busy int) {
	s.front.mu.Lock()
	defer s.front.mu.Unlock()
	for c := range s.front.all {
		if conns++; c.state.Load() == answering {
			busy++
		}
	}
	return conns, busy
}

// A shakenListener accepts connections on which TLS is agreed.
type shakenListener struct{ net.Listener }

func (l shakenListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if c.(*tls.Conn).Handshake() == nil {
			return c, nil
		}
	}
}

// openSecureSite serves a site over TLS, and returns what clients need to trust
// it.
func openSecureSite(t *testing.T) (*site, *tls.Config) {
	t.Helper()
	s := newSite()
	lender := httptest.NewTLSServer(nil)
	lender.Close()
	s.serve(t, func(l net.Listener) net.Listener {
		return s.front.Listener(shakenListener{tls.NewListener(l, &tls.Config{
			Certificates: lender.TLS.Certificates, NextProtos: []string{"h2", "http/1.1"}, MinVersion: tls.VersionTLS12,
		})})
	})
	roots := x509.NewCertPool()
	roots.AddCert(lender.Certificate())
	return s, &tls.Config{RootCAs: roots, ServerName: "example.com", MinVersion: tls.VersionTLS12}
}

func (s *site) dialTLS(t *testing.T, config *tls.Config) *http1test.Wire {
	t.Helper()
	c, err := tls.Dial("tcp", s.addr, config)
	must(t, err)
	return http1test.New(t, c)
}

// A pipeListener accepts connections in memory, on which the clock of a bubble
// goes on.
type pipeListener struct {
	ends  chan net.Conn
	ended chan struct{}
	once  sync.Once
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.ends:
		return c, nil
	case <-l.ended:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.ended) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return &net.TCPAddr{} }

// live runs a test on connections in memory and a clock that jumps.
func live(t *testing.T, test func(t *testing.T, s *site, dial func() *http1test.Wire)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newSite()
		on := &pipeListener{ends: make(chan net.Conn), ended: make(chan struct{})}
		served := make(chan struct{})
		go func() {
			defer close(served)
			_ = s.server.Serve(s.front.Listener(on)) // ends with the listener
		}()
		t.Cleanup(func() {
			_ = on.Close()
			_ = s.server.Close()
			<-served
		})
		test(t, s, func() *http1test.Wire {
			client, end := net.Pipe()
			on.ends <- end
			return http1test.New(t, client)
		})
	})
}

const (
	getAccount    = "GET /account HTTP/1.1\r\nHost: a\r\n\r\n"
	getCategories = "GET /categories HTTP/1.1\r\nHost: a\r\n\r\n"
)

// post returns a POST of a body, with the header lines given.
func post(body string, lines ...string) string {
	return fmt.Sprintf("POST /categories HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n%s\r\n%s", len(body), strings.Join(lines, ""), body)
}

func drain(ctx context.Context, s *site) chan error {
	drained := make(chan error)
	go func() { drained <- s.front.Drain(ctx) }()
	return drained
}

// must ends the test if err is not nil.
var must = processtest.Must
