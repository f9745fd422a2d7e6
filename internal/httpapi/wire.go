package httpapi

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"example.com/petstore/internal/petstore"
)

// Listener wraps the public listener, for the server that Server returns. Its
// connections answer plain requests themselves, see express, and give what
// net/http answers by itself to requests that it cannot parse the form of every
// other answer. If l accepts TLS, its connections must have agreed on it before
// they are accepted.
func (a *API) Listener(l net.Listener) net.Listener { return &listener{l, a} }

type listener struct {
	net.Listener
	api *API
}

func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	secured, ok := c.(*tls.Conn)
	if !ok {
		return l.api.newConn(c, nil), nil
	}
	state := secured.ConnectionState()
	if state.NegotiatedProtocol == "h2" {
		return c, nil // net/http must see what it is, and refuses by frames
	}
	return &secureConn{l.api.newConn(c, &state), secured}, nil
}

func (a *API) newConn(c net.Conn, secured *tls.ConnectionState) *conn {
	own := &conn{Conn: c, api: a, came: time.Now(), secured: secured, remote: c.RemoteAddr().String()}
	if a.Wrapped {
		own.x.state.Store(handed)
		own.x.shifted.Store(true)
	} else {
		a.conns.add(own)
	}
	return own
}

// A secureConn lets net/http know of the TLS below.
type secureConn struct {
	*conn
	secured *tls.Conn
}

// ConnectionState is what net/http asks for.
func (c *secureConn) ConnectionState() tls.ConnectionState { return c.secured.ConnectionState() }

// A conn answers plain requests, see express, and replaces the refusals of net/http that never reach a handler. It knows
// them by a header that no answer of ours has: a content type and nothing else,
// in one write that begins with the status line, and begins an answer: what a
// body says later is never looked at.
type conn struct {
	net.Conn
	api     *API
	came    time.Time
	secured *tls.ConnectionState // nil without TLS
	remote  string               // the peer's address
	written atomic.Int32         // nothing, begun or framed
	x       express
}

// What net/http has written since it waited for a request.
const (
	nothing int32 = iota
	begun         // an answer
	framed        // HTTP/2: it is never HTTP/1.1 again
)

const refusalHeader = "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"

// idle is the server's ConnState: it notes that an answer has been written.
func idle(c net.Conn, state http.ConnState) {
	own, ok := c.(interface{ answered() })
	if ok && state == http.StateIdle {
		own.answered()
	}
}

func (c *conn) answered() { c.written.CompareAndSwap(begun, nothing) }

func (c *conn) Write(p []byte) (int, error) {
	if c.written.Load() != nothing {
		return c.Conn.Write(p)
	}
	line, rest, found := bytes.Cut(p[:min(len(p), 512)], []byte("\r\n"))
	if !bytes.HasPrefix(line, []byte("HTTP/1.")) {
		c.written.Store(framed)
		return c.Conn.Write(p)
	}
	c.written.Store(begun)
	if !found || !bytes.HasPrefix(line, []byte("HTTP/1.1 ")) {
		return c.Conn.Write(p)
	}
	plain := bytes.HasPrefix(p[len(line):], []byte(refusalHeader))
	if !plain && !(bytes.HasPrefix(line, []byte("HTTP/1.1 417 ")) && bytes.HasPrefix(rest, []byte("Connection: close\r\n"))) {
		return c.Conn.Write(p)
	}
	status, err := strconv.Atoi(string(line[9:min(len(line), 12)]))
	if err != nil {
		return c.Conn.Write(p)
	}
	if _, err := c.Conn.Write(c.refusal(status)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// refusal returns the whole response to a request that could not be parsed.
func (c *conn) refusal(status int) []byte {
	e := petstore.Errorf(codeInvalidParameter, "The request is not well-formed HTTP.")
	switch status {
	case http.StatusRequestHeaderFieldsTooLarge:
		e = petstore.Errorf(codeHeadersTooLarge, "The header is longer than %d bytes.", maxHeaders)
	default:
		status = http.StatusBadRequest
	}
	w := &rawResponse{header: http.Header{}}
	r := &http.Request{URL: &url.URL{}, Header: http.Header{}, ProtoMajor: 1, RemoteAddr: c.RemoteAddr().String()}
	x := &exchange{}
	x.reset(c.api, w, r)
	x.path = &path{}
	x.begin()
	x.addr = clientAddr(x.r, nil)
	x.decision = c.api.Limiter.AdmitAddress(x.r.Context(), x.addr)
	x.counted = true
	x.limitHeaders(&x.decision)
	if !x.decision.Admitted() {
		status = http.StatusTooManyRequests
		x.setNumber("Retry-After", x.decision.RetryAfter)
		e = petstore.Errorf(codeRateLimitExceeded, "Too many requests from this address. Wait as Retry-After says.")
	}
	x.code = e.Code
	x.set("Connection", "close")
	x.send(status, "application/json", appendError(nil, e, status, x.id))
	x.report(0)
	return w.buf.Bytes()
}

// A rawResponse writes a response of HTTP/1.1 without a server.
type rawResponse struct {
	header http.Header
	buf    bytes.Buffer
}

func (w *rawResponse) Header() http.Header { return w.header }

func (w *rawResponse) WriteHeader(status int) {
	fmt.Fprintf(&w.buf, "HTTP/1.1 %d %s\r\n", status, http.StatusText(status))
	for name, values := range w.header {
		fmt.Fprintf(&w.buf, "%s: %s\r\n", name, strings.Join(values, ", "))
	}
	w.buf.WriteString("\r\n")
}

func (w *rawResponse) Write(p []byte) (int, error) { return w.buf.Write(p) }
