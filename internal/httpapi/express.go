package httpapi

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// How long a peer may take.
const (
	headTimeout  = 10 * time.Second
	readTimeout  = 30 * time.Second
	writeTimeout = 30 * time.Second
	idleTimeout  = 2 * time.Minute

	// slack is how much longer an express connection may take: to set a
	// deadline for each request would cost more than to read it.
	slack = 10 * time.Second
)

// The states of a connection.
const (
	waiting int32 = iota // for a request
	busy                 // with one
	ending               // busy, and to be closed after it
	handed               // to net/http
	closed
)

// An express is the part of a connection that answers plain requests itself, in
// net/http's goroutine and while net/http waits for the first bytes to come.
// What is not plain is handed to net/http, and the connection with it for good:
// so the two never have to agree on where a request ends.
type express struct {
	state  atomic.Int32
	heard  atomic.Bool // at least one byte
	served atomic.Bool // at least one request
	begun  atomic.Bool // the head of one has come, and its body is awaited
	http2  atomic.Bool // the client speaks it

	plain   *plainRequest // the last that was read; nil while nothing has come
	buf     []byte        // nil while nothing has come
	have    int           // bytes in buf
	rest    []byte        // what net/http still has to read of buf
	renewed time.Time     // when the deadlines were set
	shifted atomic.Bool   // net/http's deadline for the request has been seen to
}

// shortest is the length of "GET / HTTP/1.1" with the ends of two lines: in
// fewer bytes there is no request that waits for an answer.
const shortest = 18

// expressBuffer is the size of the buffers. A request that does not fit is not
// plain.
const expressBuffer = 4 << 10

var expressBuffers = sync.Pool{New: func() any { return new([expressBuffer]byte) }}

// Read is net/http waiting for a request.
func (c *conn) Read(p []byte) (int, error) {
	switch {
	case len(c.x.rest) > 0:
		n := copy(p, c.x.rest)
		if c.x.rest = c.x.rest[n:]; len(c.x.rest) == 0 {
			c.giveBack()
		}
		return n, nil
	case c.x.state.Load() == handed:
		return c.Conn.Read(p)
	}
	if err := c.answerPlain(p); err != nil {
		return 0, err
	}
	return c.Read(p)
}

// answerPlain answers plain requests until there is something that is not, and
// hands the connection over. The error is of a connection that has ended.
func (c *conn) answerPlain(first []byte) error {
	n, err := c.Conn.Read(first) // net/http's, so that a silent connection holds no buffer of ours
	c.x.heard.Store(true)
	c.x.buf = expressBuffers.Get().(*[expressBuffer]byte)[:]
	c.x.plain = &plainRequest{header: make(http.Header)}
	c.x.have = copy(c.x.buf, first[:n])
	if n == len(first) && n < shortest && err == nil && mayBePlain(first) {
		n, err = c.Conn.Read(c.x.buf[c.x.have:])
		c.x.have += n
	}
	for err == nil {
		var more bool
		if more, err = c.answerAll(); err != nil {
			break
		}
		if !more {
			return c.hand()
		}
		n, err = c.Conn.Read(c.x.buf[c.x.have:])
		c.x.have += n
	}
	if c.x.have > 0 { // net/http says what is wrong with half a request
		return c.hand()
	}
	c.giveBack()
	return err
}

// answerAll answers the requests in the buffer. It reports whether to read on:
// what is left is the beginning of a plain request, or nothing. After an error
// nothing is left: what has been carried out must not be seen again.
func (c *conn) answerAll() (more bool, _ error) {
	for c.skipEmptyLine(); c.x.have > 0; c.skipEmptyLine() {
		size, err := c.answerOne(c.x.buf[:c.x.have])
		if err != nil {
			c.x.have = 0
			return false, err
		}
		if size == 0 || size > len(c.x.buf) {
			return false, nil
		}
		if size > c.x.have {
			c.awaitBody()
			return true, nil
		}
		c.x.have = copy(c.x.buf, c.x.buf[size:c.x.have])
	}
	return true, nil
}

// skipEmptyLine skips what some clients send after a body (RFC 9112 §2.2), as
// net/http does if it has read the request before.
func (c *conn) skipEmptyLine() {
	if b := c.x.buf[:c.x.have]; c.x.served.Load() && bytes.HasPrefix(b, []byte("\r\n")) {
		c.x.have = copy(c.x.buf, b[2:])
	}
}

// awaitBody gives the rest of a body its time, once, however often a part of it
// comes.
func (c *conn) awaitBody() {
	if c.x.begun.Swap(true) {
		return
	}
	_ = c.Conn.SetReadDeadline(time.Now().Add(readTimeout)) // the read reports what this would
	c.x.renewed = time.Time{}
}

// answerOne answers the request that b begins with. It returns its size, which
// is 0 if it is not plain and more than len(b) if the body has not come.
func (c *conn) answerOne(b []byte) (int, error) {
	p := c.x.plain
	size, is := p.readPlain(b)
	if is != wholePlain {
		return size, nil
	}
	if !c.x.state.CompareAndSwap(waiting, busy) {
		return 0, io.EOF
	}
	t := turns.Get().(*turn)
	defer c.settle(t)
	c.x.begun.Store(false)
	t.reply.reset(p.method, &c.api.draining)
	t.body.rest = b[size-p.length : size]
	t.begin(c)
	defer t.ctx.end()
	p.describe(t.request, c, &t.body)
	t.x.reset(c.api, &t.reply, t.request)
	c.api.answerExchange(&t.x)
	c.renew()
	_, err := c.Conn.Write(t.reply.finish())
	c.x.served.Store(true)
	if err != nil || t.reply.last {
		c.x.state.CompareAndSwap(busy, ending)
		return size, io.EOF
	}
	return size, nil
}

// settle ends a turn, and the connection if somebody wanted that meanwhile.
func (c *conn) settle(t *turn) {
	if cap(t.reply.buf) > roomKept {
		t.reply.buf = nil
	}
	t.x.clear()
	turns.Put(t)
	if !c.x.state.CompareAndSwap(busy, waiting) {
		c.x.state.Store(closed)
		_ = c.end() // it is of no use any more
	}
}

// renew sets the deadlines for this answer and the next request.
func (c *conn) renew() {
	now := time.Now()
	if now.Sub(c.x.renewed) < slack {
		return
	}
	c.x.renewed = now
	_ = c.Conn.SetReadDeadline(now.Add(idleTimeout))           // an error is the
	_ = c.Conn.SetWriteDeadline(now.Add(writeTimeout + slack)) // write's too
}

// HTTP2 reports whether the client has begun with HTTP/2 (RFC 9113 §3.4).
func (c *conn) HTTP2() bool { return c.x.http2.Load() }

// hand gives the connection to net/http, with what has come.
func (c *conn) hand() error {
	if !c.x.state.CompareAndSwap(waiting, handed) {
		c.giveBack()
		return io.EOF
	}
	c.api.conns.remove(c)
	c.x.rest = c.x.buf[:c.x.have]
	c.x.http2.Store(bytes.HasPrefix(c.x.rest, []byte("PRI ")))
	_ = c.Conn.SetReadDeadline(time.Now().Add(headTimeout)) // the read reports what this would
	return nil
}

func (c *conn) giveBack() {
	if c.x.buf != nil {
		expressBuffers.Put((*[expressBuffer]byte)(c.x.buf))
		c.x.buf, c.x.rest, c.x.plain = nil, nil, nil
	}
}

// SetReadDeadline is net/http's. The first one after the connection was handed
// over may be counted from long before: from when net/http began to wait.
func (c *conn) SetReadDeadline(t time.Time) error {
	if c.x.state.Load() == handed && c.x.shifted.CompareAndSwap(false, true) {
		if least := time.Now().Add(readTimeout); !t.IsZero() && t.Before(least) {
			t = least
		}
	}
	return c.Conn.SetReadDeadline(t)
}

// Close closes the connection, after the answer if it is busy with one.
func (c *conn) Close() error {
	for {
		switch state := c.x.state.Load(); state {
		case busy:
			if c.x.state.CompareAndSwap(busy, ending) {
				return nil
			}
		case ending:
			return nil
		default:
			if c.x.state.CompareAndSwap(state, closed) {
				return c.end()
			}
		}
	}
}

func (c *conn) end() error {
	c.api.conns.remove(c)
	return c.Conn.Close()
}

// A turn is what one plain request needs, used again and again.
type turn struct {
	body    wholeBody
	ctx     *callContext
	request *http.Request // with ctx
	reply   reply
	x       exchange
}

// begin gives the turn a request and its context. Those of the one before serve
// again, unless somebody waited for its end, who may look at it still.
func (t *turn) begin(c *conn) {
	if t.ctx == nil || !t.ctx.renew(c) {
		t.ctx = &callContext{Context: context.Background(), conn: c}
		t.request = (&http.Request{}).WithContext(t.ctx)
	}
}

var turns = sync.Pool{New: func() any {
	return &turn{reply: reply{buf: make([]byte, 0, 2<<10)}}
}}
