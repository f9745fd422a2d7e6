package ratelimit

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/gomodule/redigo/redis"
)

var (
	errTimeout = errors.New("no answer in time")
	errUnasked = errors.New("the server answers what nobody asked")
)

// A command is its name and its arguments.
type command struct {
	name string
	args []any
}

// A reply is the answer to one command; err is a redis.Error then, if it is an error.
type reply struct {
	value any
	err   error
}

// A flight is commands that were sent together.
type flight struct {
	replies []reply
	got     int // how many have come
	sent    time.Time
	err     error         // why the others will not come
	done    chan struct{} // closed when all have come, or will not
}

// A link is a connection with a server. Many may send at once; answers come in the order of the commands. One that nobody
// waits for any more is read all the same, so that a late answer does not end the link. Once it has ended it stays so.
type link struct {
	address string
	socket  *unhurried
	conn    redis.Conn
	sending sync.Mutex // held by who sends

	mu    sync.Mutex
	due   []*flight // whose answers are to come
	ended error     // why; nil: it has not
}

// dial makes a link with a server, whose read must run then.
func (t *target) dial(ctx context.Context, address string) (*link, error) {
	raw, err := (&net.Dialer{}).DialContext(ctx, t.network, address)
	if err != nil {
		return nil, err
	}
	socket := &unhurried{Conn: raw}
	var stream net.Conn = socket
	if t.tls != nil {
		stream = abrupt{tls.Client(socket, t.tls), socket}
	}
	l := &link{address: address, socket: socket, conn: redis.NewConn(&bounded{Conn: stream}, 0, 0)}
	if err := t.greet(ctx, l); err != nil {
		_ = socket.Close() // err says more
		return nil, err
	}
	return l, nil
}

// abrupt is TLS that ends without a word: its farewell would wait for a peer that takes nothing any more.
type abrupt struct {
	net.Conn
	socket net.Conn
}

// Close closes the connection below TLS.
func (a abrupt) Close() error { return a.socket.Close() }

// greet says who we are.
func (t *target) greet(ctx context.Context, l *link) error {
	defer context.AfterFunc(ctx, func() { _ = l.socket.Close() })()
	if t.password != "" {
		credentials := []any{t.password}
		if t.user != "" {
			credentials = []any{t.user, t.password}
		}
		if _, err := l.conn.Do("AUTH", credentials...); err != nil {
			return refused("AUTH", err)
		}
	}
	if t.database != 0 {
		if _, err := l.conn.Do("SELECT", t.database); err != nil {
			return refused("SELECT", err)
		}
	}
	_, err := l.conn.Do("CLIENT", "SETNAME", "petstore")
	if _, refused := errors.AsType[redis.Error](err); refused {
		return nil // a name is nothing to fail for
	}
	return err
}

// do sends commands and returns their answers. If they do not all come by end, it returns those that have, and an error.
func (l *link) do(end time.Time, commands []command) ([]reply, error) {
	f := &flight{replies: make([]reply, len(commands)), done: make(chan struct{})}
	if err := l.send(end, f, commands); err != nil {
		return nil, err
	}
	timer := time.NewTimer(time.Until(end))
	defer timer.Stop()
	select {
	case <-f.done:
	case <-timer.C:
	}
	return l.come(f)
}

// come returns the answers that have come, and why the others have not.
func (l *link) come(f *flight) ([]reply, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case f.got == len(f.replies):
		return f.replies, nil
	case f.err != nil:
		return f.replies[:f.got], f.err
	}
	return f.replies[:f.got], errTimeout
}

// send sends commands, or none of them: those of a caller who has gone would only keep the others waiting.
func (l *link) send(end time.Time, f *flight, commands []command) error {
	l.sending.Lock()
	defer l.sending.Unlock()
	if !time.Now().Before(end) {
		return errTimeout
	}
	if err := l.expect(f); err != nil {
		return err
	}
	l.socket.waitUntil(end)
	for _, c := range commands {
		if err := l.conn.Send(c.name, c.args...); err != nil {
			return err // which ended the connection
		}
	}
	return l.conn.Flush()
}

func (l *link) expect(f *flight) error {
	f.sent = time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended == nil {
		l.due = append(l.due, f)
	}
	return l.ended
}

// read hands the answers to those who wait for them, until the link ends.
func (l *link) read() {
	for {
		value, err := l.conn.Receive()
		if _, isAnswer := errors.AsType[redis.Error](err); err != nil && !isAnswer {
			l.end(l.conn.Err()) // which is err, or what a write failed with before
			return
		}
		if !l.take(reply{value, err}) {
			l.end(errUnasked)
			return
		}
		if err != nil && codeOf(err) == "READONLY" {
			l.cut() // it is no master any more: look for the one that is
		}
	}
}

func (l *link) take(r reply) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.due) == 0 {
		return false
	}
	f := l.due[0]
	f.replies[f.got] = r
	if f.got++; f.got == len(f.replies) {
		close(f.done)
		copy(l.due, l.due[1:])
		l.due[len(l.due)-1] = nil
		l.due = l.due[:len(l.due)-1]
	}
	return true
}

func (l *link) end(err error) {
	l.cut()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = err
	for _, f := range l.due {
		f.err = err
		close(f.done)
	}
	l.due = nil
}

// cut ends the link, a moment later.
func (l *link) cut() { _ = l.socket.Close() }

func (l *link) alive() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ended == nil
}

// silent reports whether an answer has been due for longer than given.
func (l *link) silent(longer time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.due) > 0 && time.Since(l.due[0].sent) > longer
}
