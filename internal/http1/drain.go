package http1

import (
	"context"
	"net"
	"time"
)

// silentTimeout is how long a connection may send nothing before its end harms
// nobody. Who makes one for a request sends that at once, and three seconds are
// enough for a client that is starved or whose first packets are lost; who keeps
// one in a pool must cope with its end (RFC 9112 §9.5).
const silentTimeout = 3 * time.Second

// Drain ends the connections that have been used, each after the answer that it
// is busy with, and those that have sent nothing for a while, and returns when
// that is done. What net/http has is left to the server. From now on every
// answer is its connection's last. If ctx ends first, Drain cuts all of them and
// returns its error; the server's Close would not, as it looks like what Shutdown does to a
// connection that the server takes for a silent one.
func (f *Front) Drain(ctx context.Context) error {
	f.draining.Store(true)
	timeout := silentTimeout
	if end, ok := ctx.Deadline(); ok {
		timeout = min(timeout, time.Until(end)/2)
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for f.busy(timeout) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			f.cut()
			return ctx.Err()
		}
	}
	return nil
}

// busy closes the connections that wait for nothing: those that have been used,
// and those that have been silent for so long. It reports whether there were any,
// or others are at work or have just come.
func (f *Front) busy(timeout time.Duration) bool {
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
		case c.received.Load(): // some bytes, of which net/http may have to make sense
		case time.Since(c.came) >= timeout:
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

// cut closes the connections at once, whatever they are at.
func (f *Front) cut() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for c := range f.all {
		_ = c.socket().Close() // who is at work with it notices
	}
}
