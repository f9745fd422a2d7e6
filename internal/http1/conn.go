package http1

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Options say what a Front may answer.
type Options struct {
	// Plain reports whether requests for a path may be answered on their
	// connection. Answers to them must not take long: nobody notices that the
	// client has gone. Without it none may.
	Plain func(path string) bool

	// NotPlain is a header field in its canonical form, or "". A request that has it
	// is net/http's: its answer may take long, or be broken off.
	NotPlain string

	// Malformed answers a request that net/http refuses by itself, with the
	// status that it has for that: 400, 417, 431, 501 or 505. The request has
	// nothing but the peer's address. The connection ends with the answer.
	Malformed func(w http.ResponseWriter, r *http.Request, status int)
}

// A Front stands before a server and answers plain requests with its handler.
type Front struct {
	server   *http.Server
	options  Options
	draining atomic.Bool

	mu  sync.Mutex
	all map[*conn]struct{} // that net/http does not have yet
}

// open returns a connection that net/http does not have yet.
func (f *Front) open(c net.Conn, secured *tls.ConnectionState) *conn {
	own := &conn{Conn: c, front: f, counted: countedOf(c), came: time.Now(), tls: secured, remote: c.RemoteAddr().String()}
	own.base = withCounted(context.Background(), c)
	f.add(own)
	return own
}

func (f *Front) add(c *conn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all[c] = struct{}{}
}

func (f *Front) remove(c *conn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.all, c)
}

// The states of a connection.
const (
	waiting    int32 = iota // for a request
	answering               // one
	ending                  // answering, and to be closed after it
	handedOver              // to net/http
	closed
)

// A conn answers plain requests itself, in net/http's goroutine and while
// net/http waits for the first bytes to come. What is not plain is handed to
// net/http, and the connection with it for good.
type conn struct {
	net.Conn
	front   *Front
	counted *countedConn // nil if it does not count
	came    time.Time
	tls     *tls.ConnectionState // nil without TLS
	remote  string               // the peer's address
	base    context.Context      //nolint:containedctx // of the contexts of its requests

	state      atomic.Int32
	received   atomic.Bool // at least one byte
	served     atomic.Bool // at least one request was answered
	awaitsBody atomic.Bool // the head of a request has come, and its body is awaited

	buf             *buffer   // nil while nothing has come
	have            int       // bytes in buf
	need            int       // bytes that the request in buf has with its body, once that is known
	began           time.Time // when a part of the request in buf came, or the connection was handed over; else zero
	emptyLineBudget int       // how many bytes of empty lines may come before the next request
	unread          []byte    // what net/http still has to read of buf
	renewed         time.Time // when the deadlines were set

	firstDeadline atomic.Bool  // net/http's first deadline has been seen to
	http2         atomic.Bool  // the client speaks it
	written       atomic.Int32 // what net/http has written, see refusal.go
}

// A buffer holds what has come. A request that does not fit is not plain.
type buffer [4 << 10]byte

var buffers = sync.Pool{New: func() any { return new(buffer) }}

// mostKept is the most room for an answer that is kept for the next.
const mostKept = 64 << 10

// Read is net/http waiting for a request.
func (c *conn) Read(p []byte) (int, error) {
	switch {
	case len(c.unread) > 0:
		n := copy(p, c.unread)
		if c.unread = c.unread[n:]; len(c.unread) == 0 {
			c.releaseBuffer()
		}
		return n, nil
	case c.state.Load() == handedOver:
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
	c.received.Store(true)
	c.buf = buffers.Get().(*buffer)
	c.have = copy(c.buf[:], first[:n])
	for err == nil {
		var more bool
		if more, err = c.answerAll(); err != nil {
			break
		}
		if !more {
			return c.handOver()
		}
		n, err = c.Conn.Read(c.buf[c.have:])
		c.have += n
	}
	if c.have > 0 { // net/http says what is wrong with half a request
		return c.handOver()
	}
	c.releaseBuffer()
	return err
}

// answerAll answers the requests in the buffer. It reports whether to read on:
// what is left is the beginning of a plain request, or nothing. After an error
// nothing is left: what has been carried out must not be seen again.
func (c *conn) answerAll() (more bool, err error) {
	for c.skipEmptyLines(); c.have > 0; c.skipEmptyLines() {
		if c.have < c.need {
			return true, nil
		}
		one := calls.Get().(*call)
		switch size, is := one.read(c.buf[:c.have], c.front.options.Plain); {
		case c.mayBePlain(is):
			calls.Put(one)
			c.awaitHead()
			return true, nil
		case is == notPlain && c.served.Load() && mayBePreface(c.buf[:c.have]):
			one.request = request{method: "PRI", target: "*", header: http.Header{}, preface: true}
			err = c.answer(one, nil, c.have)
		case is == notPlain || is == headBegun || size > len(c.buf) || one.header[c.front.options.NotPlain] != nil:
			calls.Put(one)
			return false, nil
		case is == headPlain:
			calls.Put(one)
			c.awaitBody(size)
			return true, nil
		default:
			err = c.answer(one, c.buf[size-one.length:size], size)
		}
		if err != nil {
			c.have = 0
			return false, err
		}
	}
	return true, nil
}

// mayBePlain reports whether what is in the buffer may be the beginning of a plain
// head, or of the preface of HTTP/2.
func (c *conn) mayBePlain(is verdict) bool {
	if is == headBegun {
		return c.have < len(c.buf)
	}
	return is == notPlain && c.have < len(preface) && mayBePreface(c.buf[:c.have])
}

// skipEmptyLines skips what some clients send after the body of a POST, as
// net/http does: up to four bytes of CR and LF.
func (c *conn) skipEmptyLines() {
	n := 0
	for n < min(c.have, c.emptyLineBudget) && (c.buf[n] == '\r' || c.buf[n] == '\n') {
		n++
	}
	if c.emptyLineBudget -= n; n < c.have {
		c.emptyLineBudget = 0
	}
	c.drop(n)
}

// drop removes n bytes from the beginning of the buffer.
func (c *conn) drop(n int) { c.have = copy(c.buf[:], c.buf[n:c.have]) }

// awaitHead gives the rest of a head its time.
func (c *conn) awaitHead() { c.await(c.front.server.ReadHeaderTimeout) }

// awaitBody gives the rest of a body its time. size is the request's with its body.
func (c *conn) awaitBody(size int) {
	c.need = size
	c.awaitsBody.Store(true)
	c.await(c.front.server.ReadTimeout)
}

// await lets the request that has begun last so long, counted from its first part.
func (c *conn) await(d time.Duration) {
	if c.began.IsZero() {
		c.began = time.Now()
	}
	_ = c.Conn.SetReadDeadline(c.began.Add(d)) // the read reports what this would
	c.renewed = time.Time{}
}

// answer has the handler answer a request of so many bytes.
func (c *conn) answer(one *call, body []byte, size int) error {
	if !c.state.CompareAndSwap(waiting, answering) {
		return io.EOF
	}
	defer c.endAnswer()
	c.awaitsBody.Store(false)
	ctx, cancel := context.WithCancel(c.base)
	defer cancel()
	one.response = response{
		buf: one.answerBuffer, bodiless: one.method == http.MethodHead, last: one.preface, draining: &c.front.draining, counted: c.counted,
	}
	defer one.end()
	c.front.server.Handler.ServeHTTP(&one.response, one.describe(ctx, body, c.remote, c.tls))
	c.renew()
	out := one.response.finish()
	err := c.send(out)
	if cap(out) <= mostKept {
		one.answerBuffer = out[:0]
	}
	c.served.Store(true)
	c.need, c.began = 0, time.Time{}
	if one.method == http.MethodPost {
		c.emptyLineBudget = 4
	}
	if err != nil || one.response.last {
		c.state.CompareAndSwap(answering, ending)
		return io.EOF
	}
	c.drop(size)
	return nil
}

// endAnswer ends an answer, and the connection if somebody wanted that meanwhile.
func (c *conn) endAnswer() {
	if !c.state.CompareAndSwap(answering, waiting) {
		c.state.Store(closed)
		_ = c.end() // it is of no use any more
	}
}

// slack is how much longer a connection may take or be idle: to set a deadline for
// each request would cost more than to read it.
const slack = 10 * time.Second

// renew sets the deadlines for this answer and the next request.
func (c *conn) renew() {
	now := time.Now()
	if now.Sub(c.renewed) < slack {
		return
	}
	c.renewed = now
	_ = c.Conn.SetReadDeadline(now.Add(c.front.server.IdleTimeout + slack))   // an error is the
	_ = c.Conn.SetWriteDeadline(now.Add(c.front.server.WriteTimeout + slack)) // write's too
}

// handOver gives the connection to net/http, with what has come.
func (c *conn) handOver() error {
	if !c.state.CompareAndSwap(waiting, handedOver) {
		c.releaseBuffer()
		return io.EOF
	}
	c.front.remove(c)
	c.unread = c.buf[:c.have]
	if bytes.HasPrefix(c.unread, []byte("PRI ")) {
		c.http2.Store(true)
		speaksHTTP2(c.Conn, c.front.server)
	}
	c.awaitHead()
	return nil
}

func (c *conn) releaseBuffer() {
	if c.buf != nil {
		buffers.Put(c.buf)
		c.buf, c.unread = nil, nil
	}
}

// HTTP2 reports whether the client has begun with HTTP/2 (RFC 9113 §3.4).
func (c *conn) HTTP2() bool { return c.http2.Load() }

// SetReadDeadline is net/http's. The first one after the connection was handed
// over is for the body, and may be counted from long before: from when net/http
// began to wait. It is set anew, from when the request began.
func (c *conn) SetReadDeadline(t time.Time) error {
	if c.state.Load() == handedOver && c.firstDeadline.CompareAndSwap(false, true) && !t.IsZero() {
		t = c.began.Add(c.front.server.ReadTimeout)
	}
	return c.Conn.SetReadDeadline(t)
}

// NetConn returns the connection below.
func (c *conn) NetConn() net.Conn { return c.Conn }

// CloseWrite tells the client that no more comes, so that it reads an answer
// that was given before its request was read to the end.
func (c *conn) CloseWrite() error { return closeWrite(c.Conn) }

// Close closes the connection, after the answer if it is busy with one.
func (c *conn) Close() error {
	for {
		switch state := c.state.Load(); state {
		case answering:
			if c.state.CompareAndSwap(answering, ending) {
				return nil
			}
		case ending:
			return nil
		default:
			if c.state.CompareAndSwap(state, closed) {
				return c.end()
			}
		}
	}
}

func (c *conn) end() error {
	c.front.remove(c)
	return c.Conn.Close()
}

// socket returns what is below TLS, if there is any: closing TLS would wait for
// the peer to take a farewell.
func (c *conn) socket() net.Conn {
	if secured, ok := c.Conn.(*tls.Conn); ok {
		return secured.NetConn()
	}
	return c.Conn
}
