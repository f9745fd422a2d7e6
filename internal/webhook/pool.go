package webhook

import (
	"slices"
	"sync"
	"time"
)

// Connections that no message uses.
const (
	keptFor     = time.Minute
	keptPerHost = 8
	keptInAll   = 256
)

// A pool keeps connections for the next message. The zero pool is empty.
type pool struct {
	mu     sync.Mutex
	free   map[host][]*conn // those kept last at the end
	n      int              // of them
	closed bool
}

// keep takes a connection that no message uses any more. While it is kept, it is read from:
// it leaves the pool when it ends, when its time is over, or when bytes come that nobody
// asked for.
func (p *pool) keep(c *conn) {
	if !c.reusable {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.free[c.host]) >= keptPerHost {
		_ = c.wire.Close()
		return
	}
	if p.n >= keptInAll {
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
	_ = c.SetDeadline(time.Now().Add(keptFor))
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

// take returns a connection that was kept, or nil.
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

// removeLocked reports whether the connection was in the pool.
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

// close closes the connections, and keeps no others from then on.
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
