package webhook

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

// Limits of what is read of an answer.
const (
	maxHeader        = 16 << 10      // bytes, with those of informational answers
	maxInformational = 10            // answers before the final one
	maxAnswer        = 1 << 10       // bytes of the body
	maxCoded         = 4 * maxAnswer // bytes of the body with its transfer coding
)

// A failure says why a try has failed, in words for the owner of the webhook.
type failure string

func (f failure) Error() string { return string(f) }

const (
	errRequest failure = "The request could not be made."
	errHeader  failure = "The header of the answer was longer than 16 KiB."
	errInterim failure = "There were more than 10 informational answers, and no final one."
	errTLS     failure = "The TLS handshake failed."
	errSyntax  failure = "The answer was not valid HTTP/1.1."
)

// errEnded is returned if an idle connection had ended before a byte of the answer
// came.
var errEnded = errors.New("webhook: the connection had ended")

// hostOf returns the host of a URL.
func hostOf(u *url.URL) (h host) {
	h = host{secure: u.Scheme == "https", name: u.Hostname(), port: u.Port()}
	switch {
	case h.port != "":
	case h.secure:
		h.port = "443"
	default:
		h.port = "80"
	}
	return h
}

// A host identifies the connections that a URL can use.
type host struct {
	secure     bool
	name, port string
}

// A conn is a connection to a receiver. One goroutine uses it at a time.
type conn struct {
	net.Conn          // TLS, or the same as wire
	wire     net.Conn // below TLS: closing it does not wait for a write
	host     host
	left     io.LimitedReader // what may be read from the connection
	in       *bufio.Reader    // of left
	reused   bool
	reusable bool
	idle     chan error // the error that ended the read of the idle connection
}

// dial returns a new connection.
func (s *Sender) dial(ctx context.Context, h host) (*conn, error) {
	wire, err := s.dialer.DialContext(ctx, "tcp", net.JoinHostPort(lookupName(h.name), h.port))
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: wire, wire: wire, host: h}
	if h.secure {
		config := s.tls.Clone()
		config.ServerName = h.name
		secure := tls.Client(wire, config)
		if err := secure.HandshakeContext(ctx); err != nil {
			_ = wire.Close()
			return nil, handshakeError(ctx, err)
		}
		c.Conn = secure
	}
	c.left.R = c.Conn
	c.in = bufio.NewReader(&c.left)
	return c, nil
}

// handshakeError returns the error to report for one of a handshake.
func handshakeError(ctx context.Context, err error) error {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok || ctx.Err() != nil || isTimeout(err) {
		return err
	}
	return errTLS
}

// exchange sends a request, and returns the final answer and the first bytes of its body.
// ctx must have a deadline: exchange returns then, and as soon as ctx ends, whatever the
// receiver does. It closes the connection unless that can be used again.
func (c *conn) exchange(ctx context.Context, r *http.Request) (answer *http.Response, text []byte, err error) {
	stop := context.AfterFunc(ctx, func() { _ = c.wire.Close() })
	deadline, _ := ctx.Deadline()
	_ = c.SetDeadline(deadline)
	written := make(chan error, 1)
	go func() { written <- r.Write(c) }() // a receiver may answer before it has read all
	ended := false
	if answer, err = c.readHeader(r); err == nil {
		_ = c.SetDeadline(earlier(deadline, time.Now().Add(bodyTime)))
		text, ended = c.readBody(answer)
	}
	if !ended || answer.Close {
		_ = c.wire.Close()
	}
	sent := <-written == nil
	c.reusable = stop() && sent && ended && !answer.Close && c.in.Buffered() == 0
	if !c.reusable {
		_ = c.wire.Close()
	}
	return answer, text, err
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// readHeader reads up to the end of the header of the final answer.
func (c *conn) readHeader(r *http.Request) (*http.Response, error) {
	c.left.N = maxHeader
	for range maxInformational + 1 {
		answer, err := http.ReadResponse(c.in, r)
		if err != nil {
			return nil, c.headerError(err)
		}
		status := answer.StatusCode
		switch {
		case answer.ProtoMajor != 1:
			return nil, errSyntax
		case status >= 200 && status <= 599:
			return answer, nil
		case status < 100 || status > 199 || status == http.StatusSwitchingProtocols:
			return nil, failure(fmt.Sprintf("The status of the answer was %03d, which is not one from 200 to 599.", status))
		}
	}
	return nil, errInterim
}

// headerError returns the error to report for one of http.ReadResponse.
func (c *conn) headerError(err error) error {
	_, network := errors.AsType[net.Error](err)
	switch {
	case c.left.N <= 0:
		return errHeader
	case network || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		if c.reused && c.left.N == maxHeader && !isTimeout(err) {
			return errEnded
		}
		return err
	}
	return errSyntax
}

func isTimeout(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout()
}

// readBody returns the first bytes of a body, and whether that was all of it. The
// status alone decides the outcome, so a body that breaks off is not an error.
func (c *conn) readBody(answer *http.Response) (text []byte, ended bool) {
	c.left.N = maxCoded
	body := io.LimitedReader{R: answer.Body, N: maxAnswer}
	text, err := io.ReadAll(&body)
	return text, err == nil && body.N > 0
}
