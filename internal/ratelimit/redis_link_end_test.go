package ratelimit

import (
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/petstore/internal/ratelimit/redistest"
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

// TestAnswersThatCameAreUsed: the time of a batch is over, or its link ends, when a part of it is answered. Only the rest
// fails.
func TestAnswersThatCameAreUsed(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*link){
		"time-out": func(*link) {},
		"lost":     func(l *link) { l.end(errAway) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, _ := peerOf(t)
			f := fly(t, l, 3)
			l.take(reply{value: "one"})
			l.take(reply{value: "two"})
			end(l)
			if got, err := l.come(f); len(got) != 2 || err == nil || got[0].value != "one" || got[1].value != "two" {
				t.Errorf("after two of three answers = %v, %v, want the two, and an error", got, err)
			}
		})
	}
	l, _ := peerOf(t)
	f := fly(t, l, 1)
	l.take(reply{value: "one"})
	if got, err := l.come(f); len(got) != 1 || err != nil {
		t.Errorf("after the only answer = %v, %v, want it", got, err)
	}
}

// TestABatchThatIsHalfAnswered: the server never finishes the second call of a batch. The first counts as answered.
func TestABatchThatIsHalfAnswered(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r, err := newRedis(RedisOptions{URL: server.URL(), Config: DefaultConfig(), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.servers.close)
	r.name, r.script = server.Do(t, "SCRIPT", "LOAD", "return 'done'"), "while true do end"
	// An argument of that size the server reads for itself, so it answers before it reads on.
	first := &waiter{q: &question{key: "k", keyID: strings.Repeat("k", 64<<10)}, end: time.Now().Add(time.Second)}
	second := &waiter{q: &question{key: "k"}, text: true, end: first.end}
	r.carry(r.servers.named(server.Addr()), []*waiter{first, second})
	if got, err := redis.String(first.reply.value, first.reply.err); got != "done" {
		t.Errorf("the call that was answered = %q, %v, want its answer", got, err)
	}
	if !errors.Is(second.reply.err, errTimeout) {
		t.Errorf("the call that was not = %v, want %v", second.reply.err, errTimeout)
	}
}
