package httpapi

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"
)

// patience is how long an answer may take before its client is watched: most
// are given much sooner, and watching costs a system call.
const patience = 100 * time.Millisecond

// A callContext is the context of a plain request. It ends with the answer, or
// when the client is found to have closed the connection. Nobody may keep it for
// longer than the call: if Done was never asked for, it is the next request's
// then, perhaps on another connection, and says that it has not ended.
type callContext struct {
	context.Context //nolint:containedctx // it is one
	conn            *conn

	mu      sync.Mutex
	done    chan struct{} // nil until somebody asks
	err     error
	timer   *time.Timer
	watched chan struct{} // closed when the watch is over; nil if there is none
	early   int           // bytes of the next request that it read
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

// renew makes the context one that has not ended, for a request on the
// connection. It reports false, and does nothing, if somebody asked for Done.
func (c *callContext) renew(on *conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done != nil {
		return false
	}
	c.conn, c.err = on, nil
	return true
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

// watch cancels the context if the client closes the connection before end. It
// reads, since nothing else tells under TLS: what comes is the beginning of the
// next request, and goes where that would.
func (c *callContext) watch() {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	over := make(chan struct{})
	c.watched = over
	c.mu.Unlock()
	defer close(over)
	n, err := c.conn.Conn.Read(c.conn.x.buf[c.conn.x.have:])
	c.early = n
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
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
	c.conn.x.have += c.early
	c.conn.x.renewed = time.Time{}
	c.conn.renew()
}
