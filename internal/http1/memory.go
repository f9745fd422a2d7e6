package http1

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"example.com/petstore/internal/fairshare"
)

const (
	// requestCost is what a request of HTTP/2 holds in memory without its body: its
	// header, its stack, and an answer of Covered bytes.
	requestCost = 48 << 10

	// maxBodyCost is counted for a body whose length is not announced, and at most for
	// one whose length is: who takes longer ones holds them by Hold.
	maxBodyCost = 64 << 10

	// Covered is how many bytes of an answer are counted with the request of HTTP/2,
	// or with the connection of HTTP/1.1.
	Covered = 16 << 10

	// memoryWait is how long a request waits for memory.
	memoryWait = 3 * time.Second
)

// ErrMemory says that a client has as much waiting as it may have.
var ErrMemory = errors.New("http1: the client has too much waiting in memory")

// A meteredWriter is the ResponseWriter of a request that net/http has read. It counts
// what the request and its answer hold in memory.
type meteredWriter struct {
	http.ResponseWriter
	m       *countedConn
	ctx     context.Context // of the request: done when it gives way, too
	cancel  context.CancelFunc
	written bool // a part of a body

	mu     sync.Mutex
	shares []*fairshare.Share
	holder fairshare.Holder
	over   bool // the handler has returned
}

// counted is a handler whose requests count.
func counted(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, plain := w.(*response); plain { // it counts what it writes
			h.ServeHTTP(w, r)
			return
		}
		m, ok := r.Context().Value(countedKey{}).(*countedConn)
		if !ok {
			h.ServeHTTP(w, r)
			return
		}
		ctx, cancel := context.WithCancel(r.Context())
		a := &meteredWriter{ResponseWriter: w, m: m, ctx: ctx, cancel: cancel, holder: m.holder()}
		defer a.end()
		outer := r
		r = r.WithContext(ctx)
		defer func() { outer.Pattern = r.Pattern }() // for who traces
		if r.ProtoMajor == 2 {
			m.goOn()
			r.Body = body{r.Body, m}
		}
		h.ServeHTTP(a, r)
		if r.ProtoMajor == 2 && a.written && m.limit.crowded() {
			// What is in net/http's buffer would be sent when the request counts no more,
			// and a client may not take it.
			_ = http.NewResponseController(w).Flush()
		}
	})
}

// Begin counts what the request r, to which w answers, holds in memory. A handler calls it
// once it has found out who asks, by Recognize if it is a workspace, before it reads the
// body or answers. If the client holds as much as it may, Begin ends the request.
func Begin(w http.ResponseWriter, r *http.Request) {
	a, ok := find[*meteredWriter](w)
	if !ok || r.ProtoMajor != 2 {
		return
	}
	if a.hold(requestCost+bodyCost(r)) != nil {
		panic(http.ErrAbortHandler) // resets the stream
	}
	growStack()
}

// bodyCost returns how many bytes the body of a request may hold.
func bodyCost(r *http.Request) int64 {
	if r.ContentLength < 0 {
		return maxBodyCost
	}
	return min(r.ContentLength, maxBodyCost)
}

// hold counts bytes until the request has been answered.
func (a *meteredWriter) hold(size int64) error {
	s, err := a.claim(size)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.shares = append(a.shares, s)
	return nil
}

func (a *meteredWriter) claim(size int64) (*fairshare.Share, error) {
	a.mu.Lock()
	h := a.holder
	a.mu.Unlock()
	s, err := a.m.limit.memory.Enter(a.ctx, h, size, a.giveWay)
	if err != nil {
		return nil, ErrMemory
	}
	return s, nil
}

// giveWay ends the request for others. Its handler stops at once if it waits, also for
// more memory: net/http would cancel its context only when it has reset the stream.
func (a *meteredWriter) giveWay() {
	a.cancel()
	go a.cut()
}

// cut makes what is read and written of the request fail from now on.
func (a *meteredWriter) cut() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over { // net/http may have given the writer to another request
		return
	}
	c := http.NewResponseController(a.ResponseWriter)
	past := time.Unix(1, 0)
	_ = c.SetReadDeadline(past) // the only
	_ = c.SetWriteDeadline(past)
}

func (a *meteredWriter) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over = true
	a.cancel()
	for _, s := range a.shares {
		s.Leave()
	}
}

// Write implements http.ResponseWriter. What it sends counts until the client, or
// the system for it, has taken it.
func (a *meteredWriter) Write(p []byte) (int, error) {
	a.written = true
	a.m.goOn()
	if len(p) <= Covered {
		return a.ResponseWriter.Write(p)
	}
	s, err := a.claim(int64(len(p)))
	if err != nil {
		a.cut()
		return 0, err
	}
	defer s.Leave()
	return a.ResponseWriter.Write(p)
}

// Unwrap is for http.ResponseController.
func (a *meteredWriter) Unwrap() http.ResponseWriter { return a.ResponseWriter }

func (a *meteredWriter) recognize(workspace int64, key string) {
	a.m.recognize(workspace, key)
	a.mu.Lock()
	defer a.mu.Unlock()
	if h := (fairshare.Holder{Workspace: workspace}); a.holder != h {
		a.holder = h
		for _, s := range a.shares {
			s.Move(h)
		}
	}
}

// Hold counts size bytes that a handler keeps in memory for the request to which w
// answers, such as a long body, until it has returned. It returns ErrMemory if
// the client holds as much as it may; then the handler must refuse the request.
// Requests that were answered on their connection hold nothing long.
func Hold(w http.ResponseWriter, size int64) error {
	if a, ok := find[*meteredWriter](w); ok {
		return a.hold(size)
	}
	return nil
}

// send sends the answer to a plain request. What it sends counts as that of Write.
func (c *conn) send(out []byte) error {
	if m := c.counted; m != nil && len(out) > Covered {
		s, err := m.limit.memory.Enter(context.Background(), m.holder(), int64(len(out)), func() { go c.socket().Close() })
		if err != nil {
			return ErrMemory
		}
		defer s.Leave()
	}
	_, err := c.Conn.Write(out)
	return err
}

// A debt is what a client of HTTP/2 makes wait that is no answer: acknowledgements
// of what it sends while it does not read.
type debt struct {
	mu      sync.Mutex
	writing bool
	shares  []*fairshare.Share
}

// A body of a request of HTTP/2 notes that its handler reads.
type body struct {
	io.ReadCloser
	m *countedConn
}

func (b body) Read(p []byte) (int, error) {
	b.m.goOn()
	b.m.reading.Add(1)
	defer b.m.reading.Add(-1)
	return b.ReadCloser.Read(p)
}

// maxAhead is how far a connection of HTTP/2 may be ahead of its handlers where memory is
// short, in bytes. Each read counts aheadPerRead more: net/http reads the head of a frame
// and the rest of it one after the other.
const (
	maxAhead     = 2 << 10
	aheadPerRead = 100
)

// A connection of HTTP/2 that is ahead waits for its handlers at most so long. There may be
// none, since its client may have reset their requests; or one waits for the rest of a frame,
// which net/http does not hand on before it is whole: then the connection may read a frame.
const (
	aheadWait   = 20 * time.Millisecond
	readingWait = 2 * time.Millisecond
	maxFrame    = 16 << 10 // RFC 9113, section 4.2: unless a server allows more
)

// goOn notes that a handler did something: the connection is not ahead any more.
func (m *countedConn) goOn() {
	m.ahead.Store(0)
	select {
	case m.wentOn <- struct{}{}:
	default:
	}
}

// awaitHandlers waits until a handler of the connection does something. It does not yield
// instead: that would put it before goroutines that were preempted while others wait for
// them, and both behind all requests that come.
func (m *countedConn) awaitHandlers() {
	select {
	case <-m.wentOn: // since then it has read on
	default:
	}
	if m.ahead.Load() <= maxAhead {
		return
	}
	wait, ahead := aheadWait, int64(0)
	if m.reading.Load() > 0 {
		wait, ahead = readingWait, -maxFrame
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-m.wentOn:
		ahead = 0
	case <-t.C:
	}
	m.ahead.Store(ahead)
}

// owedPerByte is how many bytes of memory wait for a byte of what a client sends:
// a PING is 17 bytes, and what is kept to acknowledge it takes some 120.
const owedPerByte = 8

// Read implements net.Conn. Over HTTP/2, bytes that come while nothing can be sent are
// counted.
func (m *countedConn) Read(p []byte) (int, error) {
	if !m.http2.Load() {
		return m.Conn.Read(p)
	}
	// A request that has been read counts once it begins. Let those begin that wait for a
	// processor, or many connections could fill the memory before any of them does. It may
	// take long: only what is ahead of its own handlers has to wait.
	if m.ahead.Load() > maxAhead && (m.limit.short || m.limit.crowded()) {
		m.awaitHandlers()
	}
	n, err := m.Conn.Read(p)
	m.ahead.Add(int64(n) + aheadPerRead)
	if n > 0 && !m.owe(n) {
		_ = m.Conn.Close() // the error is this one's
		return 0, net.ErrClosed
	}
	return n, err
}

// owe counts n bytes that were read, if a write is under way. It reports false if
// the client may make no more wait.
func (m *countedConn) owe(n int) bool {
	if !m.debt.keep(nil) {
		return true
	}
	s, err := m.limit.memory.Enter(context.Background(), m.holder(), int64(n)*owedPerByte, func() { go m.Conn.Close() })
	if err != nil {
		return false
	}
	if !m.debt.keep(s) {
		s.Leave()
	}
	return true
}

// keep keeps s, unless it is nil, until the write that is under way has ended. It
// reports false if none is.
func (d *debt) keep(s *fairshare.Share) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.writing && s != nil {
		d.shares = append(d.shares, s)
	}
	return d.writing
}

// Write implements net.Conn.
func (m *countedConn) Write(p []byte) (int, error) {
	if !m.http2.Load() {
		return m.Conn.Write(p)
	}
	m.debt.begin()
	defer m.debt.end()
	return m.Conn.Write(p)
}

func (d *debt) begin() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.writing = true
}

func (d *debt) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.writing = false
	for _, s := range d.shares {
		s.Leave()
	}
	d.shares = d.shares[:0]
}
