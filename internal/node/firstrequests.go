package node

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"time"
)

// incompleteTimeout is after how long net/http's Shutdown closes a connection that has
// sent no complete request. http1's Drain has closed connections that have sent nothing
// at all before.
const incompleteTimeout = 5 * time.Second

// firstRequestTimeout is how long to wait for the first request of a connection of HTTP/2.
// For net/http the connection is idle, so that it sends GOAWAY; but a client that has not
// sent a request yet may treat that as a failure, as Go's does.
const firstRequestTimeout = 3 * time.Second

// firstRequests are the connections whose first request was not answered yet. A server
// drops requests that it reads after Shutdown was called (net/http, conn.serve), so
// these requests must be answered before.
type firstRequests struct {
	mu  sync.Mutex
	all map[net.Conn]firstRequest
}

type firstRequest struct {
	at     time.Time
	sent   bool // the client has sent something
	agreed bool // HTTP/2 was negotiated; then the connection becomes idle before any request
}

// note is a server's ConnState.
func (a *firstRequests) note(c net.Conn, state http.ConnState) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch state {
	case http.StateNew:
		if a.all == nil {
			a.all = make(map[net.Conn]firstRequest)
		}
		a.all[c] = firstRequest{at: time.Now()}
	case http.StateActive:
		if first, ok := a.all[c]; ok {
			first.sent = true
			a.all[c] = first
		}
	case http.StateIdle:
		if first, ok := a.all[c]; ok && !first.agreed && speaksHTTP2(c) {
			a.all[c] = firstRequest{at: first.at, agreed: true}
			return
		}
		delete(a.all, c)
	default:
		delete(a.all, c)
	}
}

func speaksHTTP2(c net.Conn) bool {
	switch c := c.(type) {
	case interface{ ConnectionState() tls.ConnectionState }:
		return c.ConnectionState().NegotiatedProtocol == "h2"
	case interface{ HTTP2() bool }:
		return c.HTTP2()
	}
	return false
}

// served waits until all first requests are answered, or ctx ends. The server must have
// stopped accepting connections.
func (a *firstRequests) served(ctx context.Context) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for a.waiting(time.Now()) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (a *firstRequests) waiting(now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range a.all {
		most := incompleteTimeout
		if c.agreed {
			most = firstRequestTimeout
		}
		if c.sent || now.Sub(c.at) < most {
			return true
		}
	}
	return false
}
