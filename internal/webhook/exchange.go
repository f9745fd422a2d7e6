package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"
)

// Limits of what is read of an answer, and of idle connections.
const (
	maxHeader      = 16 << 10 // bytes, with those of informational answers
	maxAnswer      = 1 << 10  // bytes of the body
	idleTimeout    = time.Minute
	maxIdlePerHost = 8
	maxIdle        = 256
)

// A failure says why a try has failed, in words for the owner of the webhook.
type failure string

func (f failure) Error() string { return string(f) }

const (
	errRequest failure = "The request could not be made."
	errTLS     failure = "The TLS handshake failed."
	errInvalid failure = "The connection ended before there was a valid answer of HTTP/1.1."
)

// newTransport returns a transport for HTTP/1.1 that uses no proxy. A connection that a
// try has left behind is still made, for others, or given up soon after.
func (s *Sender) newTransport(secure *tls.Config) *http.Transport {
	return &http.Transport{
		DialContext: s.dial, TLSClientConfig: secure, TLSHandshakeTimeout: tryTimeout, DisableCompression: true, MaxResponseHeaderBytes: maxHeader,
		MaxIdleConns: maxIdle, MaxIdleConnsPerHost: maxIdlePerHost, IdleConnTimeout: idleTimeout,
	}
}

// dial returns a new connection. It looks up a name with a dot as it is, without the
// search domains of the system, which may be those of a private network.
func (s *Sender) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if _, err := netip.ParseAddr(host); err != nil && strings.Contains(host, ".") && !strings.HasSuffix(host, ".") {
		host += "."
	}
	c, err := s.dialer.DialContext(ctx, network, net.JoinHostPort(host, port))
	if err != nil {
		return nil, err
	}
	return promptConn{c}, nil
}

// A promptConn is a connection on which nobody waits until a receiver reads. Only Close of
// tls.Conn sets a deadline for writes: it gives a last record of TLS some seconds.
type promptConn struct{ net.Conn }

func (c promptConn) SetWriteDeadline(time.Time) error { return c.Conn.SetWriteDeadline(time.Now()) }

// handshakeError returns the error to report for one of a handshake.
func handshakeError(err error) error {
	_, certificate := errors.AsType[*tls.CertificateVerificationError](err)
	timeout, network := errors.AsType[net.Error](err)
	if certificate || network && timeout.Timeout() {
		return err
	}
	return errTLS
}

// exchange sends a request, and returns the final answer and the first bytes of its
// body. It returns as soon as the context of the request ends, whatever the receiver
// does. The status alone decides the outcome, so a body that breaks off is not an error.
func (s *Sender) exchange(r *http.Request) (answer *http.Response, text []byte, err error) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	var insecure atomic.Bool // the last handshake of TLS has failed
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{TLSHandshakeDone: func(_ tls.ConnectionState, err error) { insecure.Store(err != nil) }})
	answer, err = s.transport.RoundTrip(r.WithContext(ctx))
	if err != nil && insecure.Load() {
		err = handshakeError(err)
	}
	if err != nil {
		return nil, nil, err
	}
	defer answer.Body.Close() // only read
	switch {
	case answer.ProtoMajor != 1:
		return nil, nil, errInvalid
	case answer.StatusCode < 200 || answer.StatusCode > 599:
		return nil, nil, failure(fmt.Sprintf("The status of the answer was %03d, which is not one from 200 to 599.", answer.StatusCode))
	}
	defer time.AfterFunc(bodyTime, cancel).Stop()
	text, _ = io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	return answer, text, nil
}
