package http1

import (
	"crypto/tls"
	"net"
	"net/http"
)

// New returns the front of a server. The server's handler and time limits apply to
// plain requests too. New sets the server's ConnContext and ConnState, and wraps its
// Handler; code that sets them later must call the former ones. The Protocols of the
// server must be set before.
func New(server *http.Server, o Options) *Front {
	f := &Front{server: server, options: o, all: make(map[*conn]struct{}), first: make(map[net.Conn]*firstRequest)}
	server.ConnContext = withCounted
	server.Handler = counted(server.Handler)
	configureHTTP2(server)

	before := server.ConnState
	server.ConnState = func(c net.Conn, state http.ConnState) {
		if own, ok := c.(interface{ answered() }); ok && state == http.StateIdle {
			own.answered()
		}
		m := countedOf(c)
		http2 := m != nil && m.http2.Load()
		if http2 && (state == http.StateActive || state == http.StateIdle) {
			m.setActive(state == http.StateActive)
		}
		f.note(c, state, http2)
		if before != nil {
			before(c, state)
		}
	}
	return f
}

// Listener wraps the listener of the server. If l accepts connections of TLS, their
// handshakes must be complete.
func (f *Front) Listener(l net.Listener) net.Listener { return &listener{l, f} }

type listener struct {
	net.Listener
	front *Front
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	secured, ok := c.(*tls.Conn)
	if !ok {
		return l.front.open(c, nil), nil
	}
	state := secured.ConnectionState()
	if state.NegotiatedProtocol == "h2" {
		startHTTP2(c, l.front.server)
		return c, nil // net/http must see that it is TLS, and sends its errors as frames
	}
	return &secureConn{l.front.open(c, &state), secured}, nil
}

// A secureConn shows net/http the state of the TLS connection below.
type secureConn struct {
	*conn
	secured *tls.Conn
}

// ConnectionState is called by net/http.
func (c *secureConn) ConnectionState() tls.ConnectionState { return c.secured.ConnectionState() }
