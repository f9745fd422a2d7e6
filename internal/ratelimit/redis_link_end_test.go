package ratelimit

import (
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/gomodule/redigo/redis"
)

// peerOf returns a link, which nobody reads yet, and its other end, for what no real server says.
func peerOf(t *testing.T) (*link, net.Conn) {
	t.Helper()
	ours, theirs := net.Pipe()
	t.Cleanup(func() { _, _ = ours.Close(), theirs.Close() })
	socket := &unhurried{Conn: ours}
	return &link{socket: socket, conn: redis.NewConn(socket, 0, 0)}, theirs
}

// fly returns a flight of n commands that the link counts as sent.
func fly(t *testing.T, l *link, n int) *flight {
	t.Helper()
	f := &flight{replies: make([]reply, n), done: make(chan struct{})}
	if err := l.expect(f); err != nil {
		t.Fatal(err)
	}
	return f
}

// A breaking is a connection that fails while something is read.
type breaking struct {
	net.Conn
	fail func()
}

func (b *breaking) Read(p []byte) (int, error) {
	n, err := b.Conn.Read(p)
	b.fail()
	return n, err
}

// TestWhatEndsALink: the connection has failed while an error is read. The error goes to the command that it answers,
// and those after it learn how the connection failed.
func TestWhatEndsALink(t *testing.T) {
	t.Parallel()
	l, peer := peerOf(t)
	reading := &breaking{Conn: l.socket}
	l.conn = redis.NewConn(reading, 0, 0)
	reading.fail = func() { _ = l.conn.Close() }
	first, second := fly(t, l, 1), fly(t, l, 1)
	said := make(chan error, 1)
	go func() {
		_, err := peer.Write([]byte("-ERR no\r\n"))
		said <- errors.Join(err, peer.Close())
	}()
	l.read()
	if err := <-said; err != nil {
		t.Fatal(err)
	}
	if err := first.replies[0].err; first.err != nil || err == nil || err.Error() != "ERR no" {
		t.Errorf("the first command: %v, %v, want the server's error", err, first.err)
	}
	if _, answered := errors.AsType[redis.Error](second.err); second.err == nil || answered {
		t.Errorf("the second command: %v, want the error of the connection", second.err)
	}
}

// TestUnaskedDataEndsALink: a server that speaks unasked is out of step; nothing after it is taken for an answer.
func TestUnaskedDataEndsALink(t *testing.T) {
	t.Parallel()
	l, peer := peerOf(t)
	said := make(chan struct{})
	go func() {
		defer close(said)
		_, _ = peer.Write([]byte(strings.Repeat("+unasked\r\n", 3))) // it may be cut off
	}()
	l.read()
	<-said
	if err := l.expect(&flight{}); !errors.Is(err, errUnasked) {
		t.Errorf("a link that was spoken to unasked = %v, want ended by %v", err, errUnasked)
	}
}
