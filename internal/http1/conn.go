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

// Options say which requests a Front answers itself.
type Options struct {
	// Plain reports whether requests for a path may be answered on their connection.
	// Their handlers must be quick, since it is not noticed when the client
	// disconnects. If Plain is nil, no request may.
	Plain func(path string) bool

	// NotPlain is the canonical name of a header field, or "". Requests with the field
	// are left to net/http: their answers may take long, or be broken off.
	NotPlain string

	// Malformed answers a request that net/http refuses before it calls a handler.
	// status is net/http's: 400, 417, 431, 501 or 505. Of the request only the peer's
	// address is known. The connection is closed after the answer.
	Malformed func(w http.ResponseWriter, r *http.Request, status int)
}

// A Front answers the plain requests of a server's connections with the server's
// handler.
type Front struct {
	server   *http.Server
	options  Options
	draining atomic.Bool

	mu    sync.Mutex
	all   map[*conn]struct{}         // the connections that were not handed over to net/http
	first map[net.Conn]*firstRequest // those whose first request net/http has not answered
}

// open returns a new connection.
func (f *Front) open(c net.Conn, secured *tls.ConnectionState) *conn {
	own := &conn{Conn: c, front: f, counted: countedOf(c), accepted: time.Now()}
	own.shared = (&http.Request{
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, RemoteAddr: c.RemoteAddr().String(), TLS: secured, Body: http.NoBody,
	}).WithContext(withCounted(context.Background(), c))
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all[own] = struct{}{}
	return own
}

func (f *Front) remove(c *conn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.all, c)
}

// The states of a connection.
const (
	waiting    int32 = iota // for a request
	answering               // a request
	ending                  // answering, and closed after it
	handedOver              // to net/http
	closed
)

// A conn answers plain requests within net/http's first calls of Read, so net/http sees
// nothing of them. At the first request that is not plain, the connection is handed
// over to net/http for good.
type conn struct {
	net.Conn
	front    *Front
	counted  *countedConn // nil if no Limit counts it
	accepted time.Time
	shared   *http.Request // what all its requests have in common

	state      atomic.Int32
	received   atomic.Bool // at least one byte
	served     atomic.Bool // at least one request was answered
	awaitsBody atomic.Bool // the head of a request has come, and its body is awaited

	buf     *buffer   // nil while it is empty
	have    int       // bytes in buf
	need    int       // bytes of the request in buf with its body; 0 if not known yet
	began   time.Time // when the first part of the request in buf came, or the connection was handed over; zero before
	unread  []byte    // part of buf that net/http has not read yet
	renewed time.Time // when renew has set the deadlines

	firstDeadline atomic.Bool  // SetReadDeadline has replaced net/http's first deadline
	written       atomic.Int32 // see refusal.go
}

// A buffer holds what was received. A request that does not fit is not plain.
type buffer [4 << 10]byte

var buffers = sync.Pool{New: func() any { return new(buffer) }}

// answers has buffers for answers, as *[]byte with a capacity of maxAnswer at most.
var answers = sync.Pool{New: func() any { return new([]byte) }}

const maxAnswer = 64 << 10

// Read implements net.Conn for net/http. It answers plain requests, and returns only
// when there is something for net/http to read.
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

// answerPlain answers plain requests, and hands the connection over at the first one
// that is not plain. It returns an error if the connection has ended.
func (c *conn) answerPlain(first []byte) error {
	n, err := c.Conn.Read(first) // into net/http's buffer, so that an idle connection needs none of ours
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
	if c.have > 0 { // net/http answers an incomplete request
		return c.handOver()
	}
	c.releaseBuffer()
	return err
}

// answerAll answers the requests in the buffer. It reports true if more is to be read,
// since the rest is empty or the beginning of a plain request. After an error the
// buffer is empty, so that net/http does not carry out a request again.
func (c *conn) answerAll() (more bool, err error) {
	for c.skipEmptyLines(); c.have > 0; c.skipEmptyLines() {
		if c.have < c.need {
			return true, nil
		}
		var one request
		switch size, result := one.read(c.buf[:c.have], c.front.options.Plain); {
		case c.mayBePlain(result):
			c.awaitHead()
			return true, nil
		case result == notPlain && c.served.Load() && mayBePreface(c.buf[:c.have]):
			err = c.answer(&request{method: "PRI", target: "*", header: http.Header{}, preface: true}, nil, c.have)
		case result == notPlain || result == headBegun || size > len(c.buf) || one.header[c.front.options.NotPlain] != nil:
			return false, nil
		case result == headPlain:
			c.awaitBody(size)
			return true, nil
		default:
			err = c.answer(&one, c.buf[size-one.length:size], size)
		}
		if err != nil {
			c.have = 0
			return false, err
		}
	}
	return true, nil
}

// mayBePlain reports whether the buffer may hold the beginning of the head of a plain
// request, or of the preface of HTTP/2.
func (c *conn) mayBePlain(result readResult) bool {
	if result == headBegun {
		return c.have < len(c.buf)
	}
	return result == notPlain && c.have < len(preface) && mayBePreface(c.buf[:c.have])
}

// skipEmptyLines skips CR and LF before a request (RFC 9112 §2.2): some clients send
// them after the body of a POST.
func (c *conn) skipEmptyLines() {
	n := 0
	for n < c.have && (c.buf[n] == '\r' || c.buf[n] == '\n') {
		n++
	}
	c.drop(n)
}

// drop removes n bytes from the beginning of the buffer.
func (c *conn) drop(n int) { c.have = copy(c.buf[:], c.buf[n:c.have]) }

// awaitHead sets the deadline for the rest of a head.
func (c *conn) awaitHead() { c.await(c.front.server.ReadHeaderTimeout) }

// awaitBody sets the deadline for the rest of a body. size is that of the whole
// request.
func (c *conn) awaitBody(size int) {
	c.need = size
	c.awaitsBody.Store(true)
	c.await(c.front.server.ReadTimeout)
}

// await sets the deadline for reading the request to d after its first part came.
func (c *conn) await(d time.Duration) {
	if c.began.IsZero() {
		c.began = time.Now()
	}
	_ = c.Conn.SetReadDeadline(c.began.Add(d)) // the read returns the error, if there is one
	c.renewed = time.Time{}
}

// answer calls the handler, and sends its answer. size is that of the whole request.
func (c *conn) answer(one *request, body []byte, size int) error {
	if !c.state.CompareAndSwap(waiting, answering) {
		return io.EOF
	}
	defer c.endAnswer()
	c.awaitsBody.Store(false)
	buf := answers.Get().(*[]byte)
	w := &response{buf: *buf, bodiless: one.method == http.MethodHead, last: one.preface, draining: &c.front.draining, counted: c.counted}
	c.front.server.Handler.ServeHTTP(w, one.newRequest(c.shared, body))
	out := w.finish()
	c.renew(w.begun)
	err := c.send(out)
	if cap(out) <= maxAnswer {
		*buf = out[:0]
		answers.Put(buf)
	}
	c.served.Store(true)
	c.need, c.began = 0, time.Time{}
	if err != nil || w.last {
		c.state.CompareAndSwap(answering, ending)
		return io.EOF
	}
	c.drop(size)
	return nil
}

// endAnswer ends an answer. It closes the connection if Close was called meanwhile.
func (c *conn) endAnswer() {
	if !c.state.CompareAndSwap(answering, waiting) {
		c.state.Store(closed)
		_ = c.end() // it is of no use any more
	}
}

// slack is how much longer than its limits a connection may take or be idle. It is
// there because setting the deadlines for each request would cost more than reading the
// request.
const slack = 10 * time.Second

// renew sets the deadlines for this answer, which was begun now, and the next request.
func (c *conn) renew(now time.Time) {
	if now.Sub(c.renewed) < slack {
		return
	}
	c.renewed = now
	_ = c.Conn.SetReadDeadline(now.Add(c.front.server.IdleTimeout + slack))   // the write returns the
	_ = c.Conn.SetWriteDeadline(now.Add(c.front.server.WriteTimeout + slack)) // error, if there is one
}

// handOver hands the connection over to net/http, with the bytes in the buffer.
func (c *conn) handOver() error {
	if !c.state.CompareAndSwap(waiting, handedOver) {
		c.releaseBuffer()
		return io.EOF
	}
	c.front.remove(c)
	c.unread = c.buf[:c.have]
	if bytes.HasPrefix(c.unread, []byte("PRI ")) {
		startHTTP2(c.Conn, c.front.server)
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

// SetReadDeadline implements net.Conn for net/http. The first deadline after the
// connection was handed over is the one for the body. net/http may count it from long
// ago, when it began to wait; here it is counted from the beginning of the request.
func (c *conn) SetReadDeadline(t time.Time) error {
	if c.state.Load() == handedOver && c.firstDeadline.CompareAndSwap(false, true) && !t.IsZero() {
		t = c.began.Add(c.front.server.ReadTimeout)
	}
	return c.Conn.SetReadDeadline(t)
}

// NetConn returns the connection below.
func (c *conn) NetConn() net.Conn { return c.Conn }

// CloseWrite closes the connection for writing, so that the client reads an answer that
// was sent before its request was read to the end.
func (c *conn) CloseWrite() error { return closeWrite(c.Conn) }

// Close closes the connection, or has it closed after the answer that is being made.
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

// socket returns the connection below TLS, if TLS is used. Closing the TLS connection
// could block, since it sends an alert.
func (c *conn) socket() net.Conn {
	if secured, ok := c.Conn.(*tls.Conn); ok {
		return secured.NetConn()
	}
	return c.Conn
}
