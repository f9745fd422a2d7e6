package http1

import (
	"net"
	"net/http"
	"time"
)

// configureHTTP2 sets a server up for HTTP/2 without the idle timeout of net/http. If a
// connection ends while it has requests, net/http starts that timer again, and keeps
// the connection's memory until the timer ends: clients that connect and disconnect
// could fill the memory. A countedConn has a timer of its own instead.
func configureHTTP2(server *http.Server) {
	idle := server.IdleTimeout
	server.IdleTimeout = -1
	_ = server.Serve(closedListener{}) // sets HTTP/2 up, and then fails to accept
	server.IdleTimeout = idle
}

// A closedListener accepts nothing.
type closedListener struct{ net.Listener }

func (closedListener) Accept() (net.Conn, error) { return nil, net.ErrClosed }
func (closedListener) Close() error              { return nil }

// startHTTP2 marks a connection as one of HTTP/2. It is closed when it has had no requests
// for the server's idle timeout.
func startHTTP2(c net.Conn, server *http.Server) {
	m := countedOf(c)
	if m == nil {
		return
	}
	m.idleTimeout = server.IdleTimeout
	m.http2.Store(true)
}

// setActive notes whether a connection of HTTP/2 has requests. A request ends for
// net/http when its answer is sent or the client resets it; its handler may still run, or
// wait to.
func (m *countedConn) setActive(active bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ended {
		return
	}
	m.active = active
	switch {
	case m.idle == nil:
		m.idle = time.AfterFunc(m.idleTimeout, m.closeIfIdle)
	case active:
		m.idle.Stop()
	default:
		m.idle.Reset(m.idleTimeout)
	}
}

// closeIfIdle ends a connection without requests. One may have come while the timer fired.
func (m *countedConn) closeIfIdle() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.active {
		_ = m.Conn.Close() // the goroutines that use it get an error
	}
}
