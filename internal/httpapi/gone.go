package httpapi

import (
	"context"
	"net"
	"sync"
	"syscall"
	"time"
)

// patience is how long an answer may take before its client is watched: most
// are given much sooner, and watching costs a system call.
const patience = 100 * time.Millisecond

// A callContext is the context of a plain request. It ends with the answer, or
// when the client is found to have closed the connection.
type callContext struct {
	context.Context
	conn *conn

	mu      sync.Mutex
	done    chan struct{} // nil until somebody asks
	err     error
	timer   *time.Timer
	watched chan struct{} // closed when the watch is over; nil if there is none
}

// Done implements context.Context.
func (c *callContext) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done == nil {
		c.done = make(chan struct{})
		if c.err != nil {
			close(c.done)
		} else {
			c.timer = time.AfterFunc(patience, c.watch)
		}
	}
	return c.done
}

// Err implements context.Context.
func (c *callContext) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

func (c *callContext) cancel() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	c.err = context.Canceled
	if c.done != nil {
		close(c.done)
	}
}

// watch cancels the context if the client closes the connection before end.
func (c *callContext) watch() {
	c.mu.Lock()
	raw := c.conn.raw()
	if c.err != nil || raw == nil {
		c.mu.Unlock()
		return
	}
	over := make(chan struct{})
	c.watched = over
	c.mu.Unlock()
	defer close(over)
	if gone(raw) {
		c.cancel()
	}
}

// end ends the context and its watch.
func (c *callContext) end() {
	c.cancel()
	if c.timer == nil || c.timer.Stop() {
		return
	}
	c.mu.Lock()
	watched := c.watched
	c.mu.Unlock()
	if watched == nil { // it comes too late, and will see that
		return
	}
	_ = c.conn.Conn.SetReadDeadline(time.Unix(1, 0)) // ends the watch
	<-watched
	c.conn.x.renewed = time.Time{}
	c.conn.renew()
}

// raw returns the connection below, or nil if it has no descriptor.
func (c *conn) raw() syscall.RawConn {
	below := c.Conn
	if secured, ok := below.(interface{ NetConn() net.Conn }); ok {
		below = secured.NetConn()
	}
	s, ok := below.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return nil
	}
	return raw
}
