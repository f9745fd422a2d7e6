package webhook

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A hostile receiver does with a connection what it likes, and ends when that is closed.
type hostile struct {
	net.Conn
}

// request reads a request, and returns when all of it was read.
func (h hostile) request() {
	r, err := http.ReadRequest(bufio.NewReader(h))
	if err == nil {
		_, _ = io.Copy(io.Discard, r.Body)
	}
}

func (h hostile) say(text string) { _, _ = io.WriteString(h, text) }

// hang waits until the other side closes the connection.
func (h hostile) hang() { _, _ = io.Copy(io.Discard, h) }

// repeat says the same until nobody listens, with a pause each time.
func (h hostile) repeat(text string, pause time.Duration) {
	for {
		if _, err := io.WriteString(h, text); err != nil {
			return
		}
		if pause > 0 {
			<-time.After(pause)
		}
	}
}

const (
	slowly    = 5 * time.Millisecond
	tooLate   = "There was no answer within 15 seconds."
	broken    = "The connection failed before there was an answer."
	fine      = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
	endlessly = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
)

// hostiles are the ways in which a receiver can hold a client.
var hostiles = map[string]struct {
	do     func(hostile)
	status int
	err    string
	secure bool
	large  bool // the message does not fit the buffers of sockets
	kept   bool // the connection is used again
}{
	"says nothing":              {do: func(h hostile) { h.request(); h.hang() }, err: tooLate},
	"reads nothing":             {do: func(h hostile) { h.stall() }, err: tooLate, large: true},
	"reads nothing and answers": {do: func(h hostile) { h.say(fine); h.stall() }, status: 200, large: true},
	"reads nothing and closes":  {do: func(h hostile) { h.say(fine); <-time.After(slowly) }, status: 200, large: true},
	"closes at once":            {do: func(hostile) {}, err: broken},
	"closes after the request":  {do: func(h hostile) { h.request() }, err: broken},
	"closes in the header":      {do: func(h hostile) { h.request(); h.say("HTTP/1.1 200 OK\r\nA: b") }, err: broken},
	"closes in the body":        {do: func(h hostile) { h.request(); h.say("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok") }, status: 200},
	"resets":                    {do: func(h hostile) { _ = h.Conn.(*net.TCPConn).SetLinger(0) }, err: broken},
	"switches protocols": {do: func(h hostile) {
		h.request()
		h.say("HTTP/1.1 101 x\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n")
		h.hang()
	}, err: "The status of the answer was 101, which is not one from 200 to 599."},
	"an informational answer":       {do: func(h hostile) { h.request(); h.say("HTTP/1.1 103 x\r\nA: b\r\n\r\n" + fine); h.hang() }, status: 200, kept: true},
	"endless informational answers": {do: func(h hostile) { h.request(); h.repeat("HTTP/1.1 100 Continue\r\n\r\n", 0) }, err: string(errInterim)},
	"slow informational answers":    {do: func(h hostile) { h.request(); h.repeat("HTTP/1.1 102 x\r\n\r\n", 100*time.Millisecond) }, err: tooLate},
	"large informational answers": {do: func(h hostile) {
		h.request()
		h.repeat("HTTP/1.1 103 x\r\nA: "+strings.Repeat("x", 4<<10)+"\r\n\r\n", 0)
	}, err: string(errHeader)},
	"status 000":            {do: func(h hostile) { h.request(); h.say("HTTP/1.1 000 x\r\n\r\n"); h.hang() }, err: "The status of the answer was 000, which is not one from 200 to 599."},
	"status 099":            {do: func(h hostile) { h.request(); h.say("HTTP/1.1 099 x\r\n\r\n"); h.hang() }, err: "The status of the answer was 099, which is not one from 200 to 599."},
	"status 600":            {do: func(h hostile) { h.request(); h.say("HTTP/1.1 600 x\r\n\r\n"); h.hang() }, err: "The status of the answer was 600, which is not one from 200 to 599."},
	"status 599":            {do: func(h hostile) { h.request(); h.say("HTTP/1.1 599 x\r\nContent-Length: 0\r\n\r\n"); h.hang() }, status: 599, kept: true},
	"status of four digits": {do: func(h hostile) { h.request(); h.say("HTTP/1.1 2000 x\r\n\r\n"); h.hang() }, err: string(errSyntax)},
	"no HTTP":               {do: func(h hostile) { h.request(); h.say("SSH-2.0-x\r\n\r\n"); h.hang() }, err: string(errSyntax)},
	"HTTP/2 unasked": {do: func(h hostile) {
		h.request()
		h.say("\x00\x00\x00\x04\x00\x00\x00\x00\x00HTTP/2.0 200 OK\r\n\r\n")
		h.hang()
	}, err: string(errSyntax)},
	"a version of the future": {do: func(h hostile) { h.request(); h.say("HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n"); h.hang() }, err: string(errSyntax)},
	"a line without end":      {do: func(h hostile) { h.request(); h.repeat("HTTP/1.1 200 OK ", 0) }, err: string(errHeader)},
	"a field without end":     {do: func(h hostile) { h.request(); h.say("HTTP/1.1 200 OK\r\nA: "); h.repeat("xxxxxxxx", 0) }, err: string(errHeader)},
	"fields without end":      {do: func(h hostile) { h.request(); h.say("HTTP/1.1 200 OK\r\n"); h.repeat("A: b\r\n", 0) }, err: string(errHeader)},
	"a header byte by byte":   {do: func(h hostile) { h.request(); h.say("HTTP/1.1 200 OK\r\nA: "); h.repeat("x", slowly) }, err: tooLate},
	"a body without end":      {do: func(h hostile) { h.request(); h.say("HTTP/1.1 200 OK\r\n\r\n"); h.repeat("xxxxxxxx", 0) }, status: 200},
	"a body byte by byte":     {do: func(h hostile) { h.request(); h.say("HTTP/1.1 200 OK\r\n\r\n"); h.repeat("x", slowly) }, status: 200},
	"a body that never comes": {do: func(h hostile) { h.request(); h.say("HTTP/1.1 500 x\r\nContent-Length: 5\r\n\r\n"); h.hang() }, status: 500},
	"the longest length": {do: func(h hostile) {
		h.request()
		h.say("HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\n")
		h.repeat("x", 0)
	}, status: 200},
	"a length too large": {do: func(h hostile) {
		h.request()
		h.say("HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775808\r\n\r\n")
		h.hang()
	}, err: string(errSyntax)},
	"a negative length": {do: func(h hostile) { h.request(); h.say("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"); h.hang() }, err: string(errSyntax)},
	"two lengths": {do: func(h hostile) {
		h.request()
		h.say("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx")
		h.hang()
	}, err: string(errSyntax)},
	"a chunk without end":     {do: func(h hostile) { h.request(); h.say(endlessly + "7fffffffffffffff\r\n"); h.repeat("x", 0) }, status: 200},
	"a chunk too large":       {do: func(h hostile) { h.request(); h.say(endlessly + "ffffffffffffffffff\r\n"); h.hang() }, status: 200},
	"an extension of a chunk": {do: func(h hostile) { h.request(); h.say(endlessly + "1;"); h.repeat("x", 0) }, status: 200},
	"tiny chunks":             {do: func(h hostile) { h.request(); h.say(endlessly); h.repeat("1;xxxxxxxxxxxxxxxxxxxxxxxxx\r\nx\r\n", 0) }, status: 200},
	"trailers without end":    {do: func(h hostile) { h.request(); h.say(endlessly + "0\r\n"); h.repeat("A: b\r\n", 0) }, status: 200},
	"trailers byte by byte":   {do: func(h hostile) { h.request(); h.say(endlessly + "0\r\nA: "); h.repeat("x", slowly) }, status: 200},
	"a redirect to itself": {do: func(h hostile) {
		h.request()
		h.say("HTTP/1.1 307 x\r\nLocation: /\r\nContent-Length: 0\r\n\r\n")
		h.hang()
	}, status: 307, kept: true},
	"more after the answer":           {do: func(h hostile) { h.request(); h.say(fine + "HTTP/1.1 500 x\r\n\r\n"); h.hang() }, status: 200},
	"more after an answer without it": {do: func(h hostile) { h.request(); h.say("HTTP/1.1 204 x\r\n\r\nok"); h.hang() }, status: 204},
	"asks to close, and does not": {do: func(h hostile) {
		h.request()
		h.say("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
		h.hang()
	}, status: 200},
	"HTTP/1.0":               {do: func(h hostile) { h.request(); h.say("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n"); h.hang() }, status: 200},
	"TLS that says nothing":  {do: func(h hostile) { h.hang() }, secure: true, err: tooLate},
	"TLS that reads nothing": {do: func(h hostile) { h.stall() }, secure: true, err: tooLate},
	"TLS byte by byte":       {do: func(h hostile) { h.say("\x16\x03\x03\x40\x00\x02\x00\x3f\xfc"); h.repeat("\x03", slowly) }, secure: true, err: tooLate},
	"TLS of empty records":   {do: func(h hostile) { h.repeat("\x16\x03\x03\x00\x00", 0) }, secure: true, err: string(errTLS)},
	"TLS of warnings":        {do: func(h hostile) { h.repeat("\x15\x03\x03\x00\x02\x01\x5a", 0) }, secure: true, err: string(errTLS)},
	"no TLS":                 {do: func(h hostile) { h.say("HTTP/1.1 400 Bad Request\r\n\r\n"); h.hang() }, secure: true, err: string(errTLS)},
}

// stall reads nothing, and returns when the test ends.
func (h hostile) stall() {
	for h.SetDeadline(time.Time{}) == nil { // until the listener's end closes it
		<-time.After(slowly)
	}
}

// listen returns the address of a receiver, and how many connections it has had.
func listen(t *testing.T, do func(hostile)) (address string, count *atomic.Int64) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	var mu sync.Mutex
	var all []net.Conn
	var serving sync.WaitGroup
	count = new(atomic.Int64)
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.(*net.TCPConn).SetReadBuffer(4 << 10)
			mu.Lock()
			all = append(all, c)
			mu.Unlock()
			count.Add(1)
			serving.Go(func() {
				defer func() { _ = c.Close() }()
				do(hostile{c})
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		mu.Lock()
		for _, c := range all {
			_ = c.Close()
		}
		mu.Unlock()
		serving.Wait()
	})
	return l.Addr().String(), count
}

// TestHostileReceivers: whatever a receiver does, a try is over within its time, and says
// what came of it.
func TestHostileReceivers(t *testing.T) {
	t.Parallel()
	for name, c := range hostiles {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			limit := 10 * time.Second // on a busy machine
			if c.err == tooLate {
				limit = 300 * time.Millisecond
			}
			address, _ := listen(t, c.do)
			s := newTestSender(t, loopback...)
			s.time = limit
			a := s.Send(t.Context(), message(address, c.secure, c.large))
			if a.Status != c.status || a.Error != c.err || len(a.Text) > maxAnswer {
				t.Errorf("Send = %d, %d bytes, %q; want %d, %q", a.Status, len(a.Text), a.Error, c.status, c.err)
			}
			if a.Latency > limit+5*time.Second {
				t.Errorf("it took %v", a.Latency)
			}
			s.kept.mu.Lock()
			defer s.kept.mu.Unlock()
			if kept := s.kept.n > 0; kept != c.kept {
				t.Errorf("the connection is kept: %t, want %t", kept, c.kept)
			}
		})
	}
}

// TestHostileReceiversCut: wherever a receiver holds a try, that ends at once with its context.
func TestHostileReceiversCut(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"says nothing", "reads nothing", "endless informational answers", "a header byte by byte", "a body byte by byte", "a chunk without end", "TLS that says nothing", "TLS byte by byte",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := hostiles[name]
			came := make(chan struct{}, 1)
			address, _ := listen(t, func(h hostile) { came <- struct{}{}; c.do(h) })
			s := newTestSender(t, loopback...)
			s.time = time.Hour
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan Answer, 1)
			go func() { ended <- s.Send(ctx, message(address, c.secure, c.large)) }()
			<-came
			<-time.After(10 * slowly) // for the try to get where it is held
			cancel()
			select {
			case <-ended:
			case <-time.After(10 * time.Second):
				t.Fatal("it has not ended 10 s later")
			}
		})
	}
}

func message(address string, secure, large bool) Message {
	m := Message{ID: "1", URL: "http://" + address, Secrets: []string{testSecret}, Body: []byte(`{"id":1}`)}
	if secure {
		m.URL = "https://" + address
	}
	if large {
		m.Body = make([]byte, 16<<20)
	}
	return m
}

// TestOnlyHTTP1: a receiver that speaks HTTP/2 too gets HTTP/1.1.
func TestOnlyHTTP1(t *testing.T) {
	t.Parallel()
	receiver := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 1 {
			t.Errorf("it was sent over %s", r.Proto)
		}
	}))
	receiver.EnableHTTP2 = true
	receiver.StartTLS()
	t.Cleanup(receiver.Close)
	s := NewSender(SenderOptions{Guard: NewGuard(false, loopback), Now: time.Now, TLS: receiver.Client().Transport.(*http.Transport).TLSClientConfig})
	t.Cleanup(s.Close)
	if a := s.Send(t.Context(), Message{ID: "1", URL: receiver.URL, Secrets: []string{testSecret}}); !a.OK() {
		t.Errorf("Send = %+v", a)
	}
}

// TestKeptConnection: messages share a connection, also over TLS.
func TestKeptConnection(t *testing.T) {
	t.Parallel()
	for _, secure := range []bool{false, true} {
		var connections atomic.Int64
		receiver := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "thanks") }))
		receiver.Config.ConnState = func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				connections.Add(1)
			}
		}
		options := SenderOptions{Guard: NewGuard(true, loopback), Now: time.Now}
		if secure {
			receiver.StartTLS()
			options.TLS = receiver.Client().Transport.(*http.Transport).TLSClientConfig
		} else {
			receiver.Start()
		}
		t.Cleanup(receiver.Close)
		s := NewSender(options)
		t.Cleanup(s.Close)
		for range 50 {
			if a := s.Send(t.Context(), Message{ID: "1", URL: receiver.URL, Secrets: []string{testSecret}}); !a.OK() || a.Text != "thanks" {
				t.Fatalf("Send = %+v", a)
			}
		}
		if n := connections.Load(); n != 1 {
			t.Errorf("%d connections were made, want 1", n)
		}
	}
}

// TestEndedConnection: a kept connection that ended, before the next message or upon it, is
// no failure.
func TestEndedConnection(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(hostile){
		"closed at once": func(hostile) {},
		"closed upon the next message": func(h hostile) {
			_, _ = h.Read(make([]byte, 1))
		},
		"reset upon the next message": func(h hostile) {
			_, _ = h.Read(make([]byte, 1))
			_ = h.Conn.(*net.TCPConn).SetLinger(0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, _ := listen(t, func(h hostile) {
				h.request()
				h.say(fine)
				end(h)
			})
			s := newTestSender(t, loopback...)
			for i := range 20 {
				if a := s.Send(t.Context(), message(address, false, false)); !a.OK() || a.Text != "ok" {
					t.Fatalf("message %d: %+v", i, a)
				}
			}
		})
	}
}

// TestEndedInAnswer: a kept connection that ended after a byte of the answer came is a
// failure: it may have arrived.
func TestEndedInAnswer(t *testing.T) {
	t.Parallel()
	address, count := listen(t, func(h hostile) {
		h.request()
		h.say(fine)
		_, _ = h.Read(make([]byte, 1))
		h.say("H")
	})
	s := newTestSender(t, loopback...)
	if a := s.Send(t.Context(), message(address, false, false)); !a.OK() {
		t.Fatalf("the first: %+v", a)
	}
	if a := s.Send(t.Context(), message(address, false, false)); a.Error == "" || count.Load() != 1 {
		t.Errorf("the second: %+v over %d connections, want a failure of the first", a, count.Load())
	}
}

// TestUnasked: a kept connection on which bytes come that nobody asked for is closed, and
// they are no answer to the next message.
func TestUnasked(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 1)
	address, _ := listen(t, func(h hostile) {
		h.request()
		h.say(fine)
		<-asked
		h.say("HTTP/1.1 500 x\r\nContent-Length: 0\r\n\r\n")
		h.hang()
	})
	s := newTestSender(t, loopback...)
	for range 5 {
		if a := s.Send(t.Context(), message(address, false, false)); !a.OK() {
			t.Fatalf("Send = %+v", a)
		}
		asked <- struct{}{}
		for kept, deadline := 1, time.Now().Add(10*time.Second); kept > 0; <-time.After(time.Millisecond) {
			s.kept.mu.Lock()
			kept = s.kept.n
			s.kept.mu.Unlock()
			if time.Now().After(deadline) {
				t.Fatal("the connection is kept")
			}
		}
	}
}

// TestPool: connections that are kept are bounded, and end with the sender.
func TestPool(t *testing.T) {
	t.Parallel()
	var p pool
	var ends []net.Conn
	conns := make([]*conn, 0, maxIdle+maxIdlePerHost)
	for i := range cap(conns) {
		near, far := net.Pipe()
		ends = append(ends, far)
		c := &conn{Conn: near, wire: near, host: host{name: string(rune('a' + i/maxIdlePerHost))}, reusable: true, left: io.LimitedReader{R: near}}
		c.in = bufio.NewReader(&c.left)
		conns = append(conns, c)
		p.keep(c)
	}
	if p.n != maxIdle {
		t.Fatalf("%d are kept, want %d", p.n, maxIdle)
	}
	_ = ends[len(ends)-1].Close()
	last := conns[len(conns)-1]
	if err := <-last.idle; !errors.Is(err, io.EOF) {
		t.Errorf("the one that ended says %v", err)
	}
	taken := p.take(last.host)
	if taken == last || taken == nil {
		t.Fatal("what is taken is the one that ended, or none")
	}
	p.keep(taken)
	p.close()
	for _, far := range ends {
		_ = far.SetReadDeadline(time.Now().Add(10 * time.Second))
		if _, err := far.Read(make([]byte, 1)); err == nil || isTimeout(err) {
			t.Fatalf("one is not closed: %v", err)
		}
	}
	p.keep(last)
	if p.n != 0 {
		t.Error("one is kept after the end")
	}
}
