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

// speaksHTTP2 notes that a connection of a server may have many requests at once. It is
// closed when it has had none for as long as the server's idle timeout.
func speaksHTTP2(c net.Conn, server *http.Server) {
	m := countedOf(c)
	if m == nil {
		return
	}
	streams := 250 // net/http's own
	if o := server.HTTP2; o != nil && o.MaxConcurrentStreams > 0 {
		streams = o.MaxConcurrentStreams
	}
	m.idleTimeout, m.most = server.IdleTimeout, int64(streams)*requestCost
	m.http2.Store(true)
}

// note is told whether a connection of HTTP/2 has requests. It has none once net/http has
// sent all of their answers, or the client has reset those that are left: their handlers
// may still run, or wait to.
func (m *countedConn) note(active bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ended {
		return
	}
	if m.active != active {
		m.active = active
		if active {
			m.limit.busy.Add(m.most)
		} else {
			m.limit.busy.Add(-m.most)
		}
	}
	switch {
	case m.idle == nil:
		m.idle = time.AfterFunc(m.idleTimeout, m.closeIfIdle)
	case active:
		m.idle.Stop()
	default:
		m.idle.Reset(m.idleTimeout)
	}
}

// closeIfIdle ends a connection without requests.
func (m *countedConn) closeIfIdle() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.active {
		_ = m.Conn.Close() // who serves it notices
	}
}

// crowded reports whether what connections of HTTP/2 may hold without being counted, before
// their requests begin and after their handlers have returned, is more than the memory
// for what is counted. Then each request has to be counted from its beginning to the end
// of its answer, which costs a good part of what it costs to answer.
func (l *Limit) crowded() bool { return l.busy.Load() > l.most }

// growStack makes the stack of a request of HTTP/2 as deep as a read of the store
// needs, once it counts. It is that of a new goroutine, and would be copied each time
// that it doubles.
//
//go:noinline
func growStack() {
	var room [10 << 10]byte
	runtime.KeepAlive(&room)
}
