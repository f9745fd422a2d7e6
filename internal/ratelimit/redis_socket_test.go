package ratelimit

import (
	"errors"
	"net"
	"testing"
	"time"

	"example.com/petstore/internal/ratelimit/redistest"
)

// linkTo returns a link with a server.
func linkTo(t *testing.T, server *redistest.Server) *link {
	t.Helper()
	target, err := parseTarget(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	s := newServers(target)
	t.Cleanup(s.close)
	l, err := s.named(server.Addr()).link(time.Now().Add(10 * time.Second))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// narrowLinkTo returns a link, and a call that is more than the buffers of both its ends hold while nobody reads.
func narrowLinkTo(t *testing.T, server *redistest.Server) (*link, []command) {
	t.Helper()
	l := linkTo(t, server)
	if err := l.socket.Conn.(*net.TCPConn).SetWriteBuffer(4096); err != nil {
		t.Fatal(err)
	}
	return l, []command{{"ECHO", []any{make([]byte, 900<<10)}}}
}

var ping = []command{{"PING", nil}}

// TestALateCallerEndsNoLink: one whose time is over gets nothing, and those beside it notice nothing.
func TestALateCallerEndsNoLink(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	l := linkTo(t, server)
	server.Pause(t)
	other := make(chan error, 1)
	go func() {
		_, err := l.do(time.Now().Add(10*time.Second), ping)
		other <- err
	}()
	eventually(t, "an answer is due", func() bool { return l.silent(0) })
	if _, err := l.do(time.Now().Add(-time.Millisecond), ping); !errors.Is(err, errTimeout) {
		t.Errorf("a late call = %v, want %v", err, errTimeout)
	}
	l.mu.Lock()
	if len(l.due) != 1 {
		t.Errorf("answers to %d calls are due, want 1: the late one is not sent", len(l.due))
	}
	l.mu.Unlock()
	server.Resume(t)
	if err := <-other; err != nil {
		t.Errorf("a call beside a late one = %v, want an answer", err)
	}
	if !l.alive() {
		t.Error("the link has ended, want it alive")
	}
}

// TestAFullSocketEndsNoLink: the server takes no more than a part of a call. Its caller goes on in time, and so does the
// link when the server does.
func TestAFullSocketEndsNoLink(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	l, huge := narrowLinkTo(t, server)
	server.Pause(t)
	begun := time.Now()
	if _, err := l.do(time.Now().Add(20*time.Millisecond), huge); !errors.Is(err, errTimeout) {
		t.Errorf("a call that the server does not take = %v, want %v", err, errTimeout)
	}
	if took := time.Since(begun); took > connecting/2 {
		t.Errorf("a call of 20 ms took %v", took)
	}
	if len(l.socket.left(0)) == 0 {
		t.Error("the server took all, want a rest")
	}
	server.Resume(t)
	eventually(t, "the rest is written", func() bool { return len(l.socket.left(0)) == 0 })
	if _, err := l.do(time.Now().Add(10*time.Second), ping); err != nil || !l.alive() {
		t.Errorf("the next call = %v, alive: %v, want an answer", err, l.alive())
	}
}

// TestAStuckSocketIsClosed: the server takes nothing for a second.
func TestAStuckSocketIsClosed(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	l, huge := narrowLinkTo(t, server)
	server.Pause(t)
	t.Cleanup(func() { server.Resume(t) })
	if _, err := l.do(time.Now().Add(20*time.Millisecond), huge); err == nil {
		t.Error("a call that the server does not take: error nil, want one")
	}
	eventually(t, "the link has ended", func() bool { return !l.alive() })
}
