package http1

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"example.com/petstore/internal/fairshare"
)

const (
	// requestCost is how many bytes are counted for a request of HTTP/2 without its
	// body: for its header, its stack, and an answer of Covered bytes.
	requestCost = 48 << 10

	// maxBodyCost is how many bytes are counted for a body whose length is not
	// announced, and at most for any body. Handlers that keep longer bodies call Hold.
	maxBodyCost = 64 << 10

	// Covered is how many bytes of an answer are counted with the request of HTTP/2,
	// or with the connection of HTTP/1.1.
	Covered = 16 << 10

	// memoryWait is how long a request waits for memory.
	memoryWait = 3 * time.Second
)

// ErrMemory is returned if a client holds as much memory as it may.
var ErrMemory = errors.New("http1: the client has too much waiting in memory")

// A meteredWriter is the ResponseWriter of a request that net/http has read. It counts
// what the request and its answer hold in memory.
type meteredWriter struct {
	http.ResponseWriter
	m       *countedConn
	ctx     context.Context //nolint:containedctx // of the request; it also ends when the request makes room for another
	cancel  context.CancelFunc
	written bool // a part of the body was written
	holder  fairshare.Holder

	mu     sync.Mutex
	shares []*fairshare.Share
	over   bool // the handler has returned
}

// counted returns a handler that calls h, and counts the memory of its requests.
func counted(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, plain := w.(*response); plain { // conn.send counts its answer
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
		r = r.WithContext(ctx)
		h.ServeHTTP(a, r)
		if r.ProtoMajor == 2 && a.written {
			// Otherwise net/http would send the rest of its buffer after the request is
			// no longer counted, and the client may not read it.
			_ = http.NewResponseController(w).Flush()
		}
	})
}

// Begin counts the memory of the request r that w answers. A handler calls it before it
// reads the body or answers, and after Recognize if the request has a key. If the client
// holds as much memory as it may, Begin resets the request.
func Begin(w http.ResponseWriter, r *http.Request) {
	a, ok := find[*meteredWriter](w)
	if !ok || r.ProtoMajor != 2 {
		return
	}
	if a.hold(requestCost+bodyCost(r)) != nil {
		panic(http.ErrAbortHandler) // resets the stream
	}
}

// bodyCost returns how many bytes are counted for the body of a request.
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
	s, err := a.m.limit.memory.Enter(a.ctx, a.holder, size, a.giveWay)
	if err != nil {
		return nil, ErrMemory
	}
	return s, nil
}

// giveWay ends the request to make room for others. A handler that waits, also for more
// memory, stops at once: net/http would cancel its context only after it has reset the
// stream.
func (a *meteredWriter) giveWay() {
	a.cancel()
	go a.cut()
}

// cut makes all reads and writes of the request fail from now on.
func (a *meteredWriter) cut() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over { // net/http may have given the writer to another request
		return
	}
	c := http.NewResponseController(a.ResponseWriter)
	past := time.Unix(1, 0)
	_ = c.SetReadDeadline(past) // fails only if the connection is closed
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

// Write implements http.ResponseWriter. What it sends is counted until the system has
// taken it.
func (a *meteredWriter) Write(p []byte) (int, error) {
	a.written = true
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
	a.holder = fairshare.Holder{Workspace: workspace}
	for _, s := range a.shares { // of a page of the console: it began before its session was known
		s.Move(a.holder)
	}
}

// Hold counts size bytes that a handler keeps in memory, such as a long body, until it
// has returned. w answers the request. Hold returns ErrMemory if the client holds as
// much as it may; then the handler must refuse the request. For plain requests it
// counts nothing, since they are short.
func Hold(w http.ResponseWriter, size int64) error {
	if a, ok := find[*meteredWriter](w); ok {
		return a.hold(size)
	}
	return nil
}

// send sends the answer to a plain request. It is counted as in meteredWriter.Write.
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

// Read implements net.Conn. Over HTTP/2 it returns only when no write is under way: for
// each PING of a client that reads nothing, net/http would keep an acknowledgement.
func (m *countedConn) Read(p []byte) (int, error) {
	n, err := m.Conn.Read(p)
	if m.http2.Load() {
		m.writing <- struct{}{}
		<-m.writing
	}
	return n, err
}

// Write implements net.Conn.
func (m *countedConn) Write(p []byte) (int, error) {
	if m.http2.Load() {
		m.writing <- struct{}{}
		defer func() { <-m.writing }()
	}
	return m.Conn.Write(p)
}
