package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
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

// newTransport returns a transport for HTTP/1.1 that uses no proxy.
func (s *Sender) newTransport() *http.Transport {
	return &http.Transport{
		DialContext: s.dial, DialTLSContext: s.dialTLS, DisableCompression: true, MaxResponseHeaderBytes: maxHeader,
		MaxIdleConns: maxIdle, MaxIdleConnsPerHost: maxIdlePerHost, IdleConnTimeout: idleTimeout,
	}
}

// tryKey is the key of the try's context in the contexts that net/http derives from it
// for a connection. Those do not end with it.
type tryKey struct{}

// dial returns a new connection. It gives up when the try ends. It looks up a name with a
// dot as it is, without the search domains of the system, which may be those of a private
// network.
func (s *Sender) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if _, err := netip.ParseAddr(host); err != nil && strings.Contains(host, ".") && !strings.HasSuffix(host, ".") {
		host += "."
	}
	return s.dialer.DialContext(ctx.Value(tryKey{}).(context.Context), network, net.JoinHostPort(host, port))
}

func (s *Sender) dialTLS(ctx context.Context, network, address string) (net.Conn, error) {
	wire, err := s.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	config := s.tls.Clone()
	if config.ServerName, _, err = net.SplitHostPort(address); err != nil {
		return nil, errors.Join(err, wire.Close())
	}
	c := tls.Client(wire, config)
	if err := c.HandshakeContext(ctx.Value(tryKey{}).(context.Context)); err != nil {
		_ = wire.Close()
		return nil, handshakeError(err)
	}
	return secureConn{c}, nil
}

// handshakeError returns the error to report for one of a handshake.
func handshakeError(err error) error {
	_, certificate := errors.AsType[*tls.CertificateVerificationError](err)
	timeout, network := errors.AsType[net.Error](err)
	if certificate || network && timeout.Timeout() || errors.Is(err, context.Canceled) {
		return err
	}
	return errTLS
}

// A secureConn is a connection over TLS. Close does not wait for a receiver that reads
// nothing, as that of tls.Conn does for some seconds.
type secureConn struct{ *tls.Conn }

func (c secureConn) Close() error { return c.NetConn().Close() }

// exchange sends a request, and returns the final answer and the first bytes of its
// body. It returns as soon as the context of the request ends, whatever the receiver
// does. The status alone decides the outcome, so a body that breaks off is not an error.
func (s *Sender) exchange(r *http.Request) (answer *http.Response, text []byte, err error) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	answer, err = s.transport.RoundTrip(r.WithContext(context.WithValue(ctx, tryKey{}, ctx)))
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
