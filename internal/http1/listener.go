package http1

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"time"
)

// Options say what a Front may answer.
type Options struct {
	// Plain reports whether requests for a path may be answered on their
	// connection. Answers to them must not take long: nobody notices that the
	// client has gone. Without it none may.
	Plain func(path string) bool

	// Malformed answers a request that net/http refuses by itself, with the
	// status that it has for that: 400, 417, 431, 501 or 505. The request has
	// nothing but the peer's address. The connection ends with the answer.
	Malformed func(w http.ResponseWriter, r *http.Request, status int)
}

// A Front stands before a server and answers plain requests with its handler.
type Front struct {
	server  *http.Server
	options Options
	conns   conns
}

// New returns the front of a server, whose handler and time limits hold for plain
// requests too. It sets the server's ConnContext and its ConnState, and wraps its
// Handler; who sets them later must call those that were there. The Protocols of the
// server must be final.
func New(server *http.Server, o Options) *Front {
	f := &Front{server: server, options: o}
	server.ConnContext = withMember
	server.Handler = counted(server.Handler)
	configureHTTP2(server)

	before := server.ConnState
	server.ConnState = func(c net.Conn, state http.ConnState) {
		if own, ok := c.(interface{ answered() }); ok && state == http.StateIdle {
			own.answered()
		}
		if before != nil {
			before(c, state)
		}
	}
	return f
}

// Listener wraps the listener of the server. If l accepts TLS, its connections
// must have agreed on it before they are accepted.
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
		return l.front.newConn(c, nil), nil
	}
	state := secured.ConnectionState()
	if state.NegotiatedProtocol == "h2" {
		speaksHTTP2(c, l.front.server.IdleTimeout)
		return c, nil // net/http must see what it is, and refuses by frames
	}
	return &secureConn{l.front.newConn(c, &state), secured}, nil
}

func (f *Front) newConn(c net.Conn, secured *tls.ConnectionState) *conn {
	own := &conn{Conn: c, front: f, came: time.Now(), tls: secured, remote: c.RemoteAddr().String()}
	own.base = withMember(context.Background(), c)
	f.conns.add(own)
	return own
}

// A secureConn lets net/http know of the TLS below.
type secureConn struct {
	*conn
	secured *tls.Conn
}

// ConnectionState is what net/http asks for.
func (c *secureConn) ConnectionState() tls.ConnectionState { return c.secured.ConnectionState() }
