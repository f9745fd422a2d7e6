package webhook

import (
	"slices"
	"sync"
	"time"
)

// Limits of idle connections.
const (
	idleTimeout    = time.Minute
	maxIdlePerHost = 8
	maxIdle        = 256
)

// A pool keeps idle connections for later messages. The zero pool is empty.
type pool struct {
	mu     sync.Mutex
	free   map[host][]*conn // the latest at the end
	n      int              // connections in free
	closed bool
}

// keep adds a connection that no message uses any more. A goroutine reads from it
// meanwhile, and removes it when it ends, after idleTimeout, or when the receiver sends
// something unasked.
func (p *pool) keep(c *conn) {
	if !c.reusable {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.free[c.host]) >= maxIdlePerHost {
		_ = c.wire.Close()
		return
	}
	if p.n >= maxIdle {
		for _, free := range p.free { // of a random host
			oldest := free[0]
			p.removeLocked(oldest)
			_ = oldest.wire.Close()
			break
		}
	}
	if p.free == nil {
		p.free = make(map[host][]*conn)
	}
	p.free[c.host] = append(p.free[c.host], c)
	p.n++
	c.idle, c.left.N = make(chan error, 1), 1
	_ = c.SetDeadline(time.Now().Add(idleTimeout))
	go p.watch(c)
}

func (p *pool) watch(c *conn) {
	_, err := c.in.Peek(1)
	p.mu.Lock()
	if p.removeLocked(c) {
		_ = c.wire.Close()
	}
	p.mu.Unlock()
	c.idle <- err
}

// take removes and returns an idle connection to a host, or returns nil.
func (p *pool) take(h host) *conn {
	for {
		p.mu.Lock()
		free := p.free[h]
		if len(free) == 0 {
			p.mu.Unlock()
			return nil
		}
		c := free[len(free)-1]
		p.removeLocked(c)
		p.mu.Unlock()
		_ = c.SetDeadline(time.Unix(1, 0)) // ends the read
		if isTimeout(<-c.idle) {
			c.reused = true
			return c
		}
		_ = c.wire.Close()
	}
}

// removeLocked removes a connection, and reports whether it was in the pool.
func (p *pool) removeLocked(c *conn) bool {
	free := p.free[c.host]
	at := slices.Index(free, c)
	if at < 0 {
		return false
	}
	p.n--
	if len(free) == 1 {
		delete(p.free, c.host)
	} else {
		p.free[c.host] = slices.Delete(free, at, at+1)
	}
	return true
}

// close closes the idle connections, and those that keep is called with later.
func (p *pool) close() {
	p.mu.Lock()
	all := p.free
	p.free, p.n, p.closed = nil, 0, true
	p.mu.Unlock()
	for _, free := range all {
		for _, c := range free {
			_ = c.wire.Close()
			<-c.idle //nolint:errcheck // it says that the connection was closed
		}
	}
}
