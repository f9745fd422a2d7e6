package http1

import (
	"net"
	"net/http"
	"runtime"
	"time"
)

// configureHTTP2 sets a server up for HTTP/2 without the idle timeout of net/http. That
// one is started again when a connection ends with requests open, and then holds all
// that the connection had for as long: clients that come and go would fill the memory.
// Members have one of their own instead.
func configureHTTP2(server *http.Server) {
	idle := server.IdleTimeout
	server.IdleTimeout = -1
	_ = server.Serve(closedListener{}) // sets it up before it accepts, and then fails
	server.IdleTimeout = idle
}

// A closedListener accepts nothing.
type closedListener struct{ net.Listener }

func (closedListener) Accept() (net.Conn, error) { return nil, net.ErrClosed }
func (closedListener) Close() error              { return nil }

// speaksHTTP2 notes that a connection may have many requests at once, and closes it
// when it has had none for as long as idle.
func speaksHTTP2(c net.Conn, idle time.Duration) {
	m := memberOf(c)
	if m == nil {
		return
	}
	m.http2.Store(true)
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.ended {
		m.idle, m.idleTimeout = time.AfterFunc(idle, m.closeIfIdle), idle
	}
}

// closeIfIdle ends a connection without requests.
func (m *member) closeIfIdle() {
	if m.busy.Load() == 0 {
		_ = m.Conn.Close() // who serves it notices
	}
}

// done notes that a request of HTTP/2 was answered.
func (m *member) done() {
	if m.busy.Add(-1) > 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.idle != nil && !m.ended {
		m.idle.Reset(m.idleTimeout)
	}
}

// deepen makes the stack of a request of HTTP/2 as deep as a read of the store
// needs, once it counts. It is that of a new goroutine, and would be copied each time
// that it doubles.
//
//go:noinline
func deepen() {
	var room [10 << 10]byte
	runtime.KeepAlive(&room)
}
