//go:build linux

package faults

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"example.com/petstore/test/servertest"
)

// A link passes connections on to an address, and can be broken.
type link struct {
	net.Listener
	to  string
	all sync.WaitGroup

	mu    sync.Mutex
	state linkState
	moved *sync.Cond            // when the state has changed
	open  map[net.Conn]struct{} // both ends of each connection
}

type linkState int

const (
	whole  linkState = iota
	silent           // nothing passes, and nobody is told; what is sent comes through later
	cut              // every connection is reset, also each new one
)

// newLink links a new address of the loopback to another, until the test ends.
func newLink(t *testing.T, to string) *link {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &link{Listener: listener, to: to, open: map[net.Conn]struct{}{}}
	l.moved = sync.NewCond(&l.mu)
	l.all.Go(l.accept)
	t.Cleanup(func() {
		_ = l.Close() // accept ends with it
		l.set(cut)
		l.all.Wait()
	})
	return l
}

func (l *link) accept() {
	for {
		near, err := l.Accept()
		if err != nil {
			return
		}
		l.all.Go(func() {
			far, err := net.Dial("tcp", l.to)
			if err != nil {
				reset(near)
				return
			}
			if l.add(near, far) {
				l.all.Go(func() { l.pass(near, far) })
				l.pass(far, near)
			}
		})
	}
}

// add resets both ends and returns false if the link is cut.
func (l *link) add(ends ...net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range ends {
		if l.state == cut {
			reset(c)
		} else {
			l.open[c] = struct{}{}
		}
	}
	return l.state != cut
}

// pass copies what one end sends to the other, until either ends.
func (l *link) pass(from, to net.Conn) {
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, c := range []net.Conn{from, to} {
			c.Close()
			delete(l.open, c)
		}
	}()
	piece := make([]byte, 32<<10)
	for {
		n, err := from.Read(piece)
		l.mu.Lock()
		for l.state == silent {
			l.moved.Wait()
		}
		l.mu.Unlock()
		if _, failed := to.Write(piece[:n]); err != nil || failed != nil {
			return
		}
	}
}

// set breaks the link, or mends it.
func (l *link) set(state linkState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state = state
	if state == cut {
		for c := range l.open {
			reset(c)
		}
	}
	l.moved.Broadcast()
}

// reset ends a connection so that the other side is told at once.
func reset(c net.Conn) {
	_ = c.(*net.TCPConn).SetLinger(0) // it may have ended
	c.Close()
}

// TestLink holds that a link does what its states say.
func TestLink(t *testing.T) {
	echo, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	t.Cleanup(all.Wait)
	t.Cleanup(func() { echo.Close() })
	all.Go(func() {
		for {
			c, err := echo.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			})
		}
	})
	l := newLink(t, echo.Addr().String())
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	hear := func(within time.Duration) error {
		if err := c.SetReadDeadline(time.Now().Add(within)); err != nil {
			return err
		}
		_, err := c.Read(make([]byte, 1))
		return err
	}
	say := func() {
		if _, err := c.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	say()
	if err := hear(servertest.Patience); err != nil {
		t.Errorf("over a whole link: %v", err)
	}
	l.set(silent)
	say()
	if err := hear(50 * time.Millisecond); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("over a silent link: %v, want nothing to come", err)
	}
	l.set(whole)
	if err := hear(servertest.Patience); err != nil {
		t.Errorf("when the link is whole again: %v", err)
	}
	l.set(cut)
	if err := hear(servertest.Patience); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("over a cut link: %v, want a reset", err)
	}
}
