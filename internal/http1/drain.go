package http1

import (
	"context"
	"math"
	"net"
	"net/http"
	"time"
)

// newConnTimeout is how long Drain waits for the first request of a connection. A
// client that connects in order to send a request does so at once, and three seconds
// are enough for a slow client or if its first packets are lost. A client that keeps
// connections in a pool must handle their end (RFC 9112 §9.5). But one that gets GOAWAY
// before its first request of HTTP/2 may treat that as a failure, as Go's does.
const newConnTimeout = 3 * time.Second

// Drain closes the connections that have been used, each after its present answer, and
// those that have sent nothing for newConnTimeout. It returns when all of them are closed.
// Connections that were handed over to net/http are left to the server's Shutdown, once
// their first request is answered, for which Drain waits half of the time of ctx. From now
// on every connection ends after its next answer. If ctx ends first, Drain closes all
// connections at once and returns the error of ctx. The server's Close would not do so: it
// calls conn.Close, which lets the present answer be sent first, since Shutdown calls it
// too.
func (f *Front) Drain(ctx context.Context) error {
	f.draining.Store(true)
	timeout, half := newConnTimeout, time.Duration(math.MaxInt64)
	if end, ok := ctx.Deadline(); ok {
		half = time.Until(end) / 2
		timeout = min(timeout, half)
	}
	began := time.Now()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for f.closeIdle(timeout) || time.Since(began) < half && f.awaitsFirst(timeout) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			f.cut()
			return ctx.Err()
		}
	}
	return nil
}

// closeIdle closes the connections without a request: those that have been used, and
// those that have sent nothing since they were accepted, for longer than timeout. It
// reports whether it closed any, or others are in use or new.
func (f *Front) closeIdle(timeout time.Duration) bool {
	f.mu.Lock()
	var idle []net.Conn
	working := false
	for c := range f.all {
		switch state := c.state.Load(); {
		case state == answering || state == ending || c.awaitsBody.Load():
			working = true
		case state != waiting:
		case c.served.Load():
			idle = append(idle, c)
		case c.received.Load(): // an incomplete request, which net/http may have to answer
		case time.Since(c.accepted) >= timeout:
			idle = append(idle, c)
		default:
			working = true
		}
	}
	f.mu.Unlock()
	for _, c := range idle {
		_ = c.Close() // it is of no use any more
	}
	return working || len(idle) > 0
}

// A firstRequest is the state of a connection whose first request was not answered yet by
// net/http. A server drops requests that it reads after Shutdown was called (net/http,
// conn.serve), so these requests must be answered before.
type firstRequest struct {
	since  time.Time
	sent   bool // the client has sent something
	agreed bool // HTTP/2 was begun; then the connection becomes idle before any request
}

// note notes the state that net/http tells of a connection, and whether it uses HTTP/2.
func (f *Front) note(c net.Conn, state http.ConnState, http2 bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	first := f.first[c]
	switch {
	case state == http.StateNew:
		f.first[c] = &firstRequest{since: time.Now()}
	case first == nil:
	case state == http.StateActive:
		first.sent = true
	case state == http.StateIdle && !first.agreed && http2:
		first.sent, first.agreed = false, true
	default:
		delete(f.first, c)
	}
}

// awaitsFirst reports whether a first request is to be awaited, for so long after its
// connection came, or is being answered.
func (f *Front) awaitsFirst(timeout time.Duration) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, first := range f.first {
		if first.sent || time.Since(first.since) < timeout {
			return true
		}
	}
	return false
}

// cut closes all connections at once.
func (f *Front) cut() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for c := range f.all {
		_ = c.socket().Close() // the goroutine that uses it gets an error
	}
}
