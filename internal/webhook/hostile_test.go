package webhook

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A hostile receiver does with a connection what it likes, and ends when that is closed.
type hostile struct {
	net.Conn
	holds func() // is called while it holds the try
}

// request reads a request, and returns when all of it was read.
func (h hostile) request() {
	r, err := http.ReadRequest(bufio.NewReader(h))
	if err == nil {
		_, _ = io.Copy(io.Discard, r.Body)
	}
}

// begin returns when a request has begun to come.
func (h hostile) begin() { _, _ = h.Read(make([]byte, 1)) }

func (h hostile) say(text string) { _, _ = io.WriteString(h, text) }

// hang waits until the other side closes the connection.
func (h hostile) hang() {
	h.holds()
	_, _ = io.Copy(io.Discard, h)
}

// repeat says the same until nobody listens, with a pause each time.
func (h hostile) repeat(text string, pause time.Duration) {
	for {
		if _, err := io.WriteString(h, text); err != nil {
			return
		}
		h.holds()
		if pause > 0 {
			<-time.After(pause)
		}
	}
}

const (
	slowly    = 5 * time.Millisecond
	tooLate   = "There was no answer within 15 seconds."
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
}{
	"says nothing":             {do: answers("", hostile.hang), err: tooLate},
	"reads nothing":            {do: hostile.stall, err: tooLate, large: true},
	"reads little and answers": {do: func(h hostile) { h.begin(); h.say(fine); h.stall() }, status: 200, large: true},
	"closes at once":           {do: func(hostile) {}, err: string(errInvalid)},
	"closes after the request": {do: hostile.request, err: string(errInvalid)},
	"closes in the header":     {do: answers("HTTP/1.1 200 OK\r\nA: b", closes), err: string(errInvalid)},
	"closes in the body":       {do: answers("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok", closes), status: 200},
	"resets":                   {do: func(h hostile) { _ = h.Conn.(*net.TCPConn).SetLinger(0) }, err: string(errInvalid)},
	"switches protocols": {do: answers("HTTP/1.1 101 x\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n", hostile.hang),
		err: "The status of the answer was 101, which is not one from 200 to 599."},
	"an informational answer":       {do: answers("HTTP/1.1 103 x\r\nA: b\r\n\r\n"+fine, hostile.hang), status: 200},
	"endless informational answers": {do: answers("", repeats("HTTP/1.1 100 Continue\r\n\r\n", 0)), err: string(errInvalid)},
	"slow informational answers":    {do: answers("", repeats("HTTP/1.1 102 x\r\n\r\n", 100*time.Millisecond)), err: tooLate},
	"status 000":                    {do: answers("HTTP/1.1 000 x\r\n\r\n", hostile.hang), err: "The status of the answer was 000, which is not one from 200 to 599."},
	"status 600":                    {do: answers("HTTP/1.1 600 x\r\n\r\n", hostile.hang), err: "The status of the answer was 600, which is not one from 200 to 599."},
	"status 599":                    {do: answers("HTTP/1.1 599 x\r\nContent-Length: 0\r\n\r\n", hostile.hang), status: 599},
	"no HTTP":                       {do: answers("SSH-2.0-x\r\n\r\n", hostile.hang), err: string(errInvalid)},
	"a version of the future":       {do: answers("HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n", hostile.hang), err: string(errInvalid)},
	"a line without end":            {do: answers("", repeats("HTTP/1.1 200 OK ", 0)), err: string(errInvalid)},
	"fields without end":            {do: answers("HTTP/1.1 200 OK\r\n", repeats("A: b\r\n", 0)), err: string(errInvalid)},
	"a header byte by byte":         {do: answers("HTTP/1.1 200 OK\r\nA: ", repeats("x", slowly)), err: tooLate},
	"a body without end":            {do: answers("HTTP/1.1 200 OK\r\n\r\n", repeats("xxxxxxxx", 0)), status: 200},
	"a body byte by byte":           {do: answers("HTTP/1.1 200 OK\r\n\r\n", repeats("x", slowly)), status: 200},
	"a body that never comes":       {do: answers("HTTP/1.1 500 x\r\nContent-Length: 5\r\n\r\n", hostile.hang), status: 500},
	"a chunk without end":           {do: answers(endlessly+"7fffffffffffffff\r\n", repeats("x", 0)), status: 200},
	"a chunk too large":             {do: answers(endlessly+"ffffffffffffffffff\r\n", hostile.hang), status: 200},
	"tiny chunks":                   {do: answers(endlessly, repeats("1;xxxxxxxxxxxxxxxxxxxxxxxxx\r\nx\r\n", 0)), status: 200},
	"trailers without end":          {do: answers(endlessly+"0\r\n", repeats("A: b\r\n", 0)), status: 200},
	"a redirect to itself":          {do: answers("HTTP/1.1 307 x\r\nLocation: /\r\nContent-Length: 0\r\n\r\n", hostile.hang), status: 307},
	"TLS that says nothing":         {do: func(h hostile) { h.begin(); h.hang() }, secure: true, err: tooLate},
	"TLS that reads nothing":        {do: hostile.stall, secure: true, err: tooLate},
	"TLS byte by byte":              {do: func(h hostile) { h.say("\x16\x03\x03\x40\x00\x02\x00\x3f\xfc"); h.repeat("\x03", slowly) }, secure: true, err: tooLate},
	"TLS of warnings":               {do: repeats("\x15\x03\x03\x00\x02\x01\x5a", 0), secure: true, err: string(errTLS)},
	"no TLS":                        {do: func(h hostile) { h.say("HTTP/1.1 400 Bad Request\r\n\r\n"); h.hang() }, secure: true, err: string(errTLS)},
}

// answers reads the request and says a text, before what it does next.
func answers(text string, then func(hostile)) func(hostile) {
	return func(h hostile) { h.request(); h.say(text); then(h) }
}

func closes(hostile) {}

func repeats(text string, pause time.Duration) func(hostile) {
	return func(h hostile) { h.repeat(text, pause) }
}

// stall reads nothing but the first byte, and returns when the test ends.
func (h hostile) stall() {
	h.begin()
	h.holds()
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
				do(hostile{c, func() {}})
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
			// The time for a try is real where it has to run out: the kernel's sockets know no other clock.
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
		})
	}
}

// TestHostileReceiversCut: wherever a receiver holds a try, that ends at once with its context.
func TestHostileReceiversCut(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"says nothing", "reads nothing", "a header byte by byte", "a body byte by byte", "TLS that says nothing", "TLS byte by byte",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := hostiles[name]
			held := make(chan struct{})
			address, _ := listen(t, func(h hostile) {
				h.holds = sync.OnceFunc(func() { close(held) })
				c.do(h)
			})
			s := newTestSender(t, loopback...)
			s.time = time.Hour
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan Answer, 1)
			go func() { ended <- s.Send(ctx, message(address, c.secure, c.large)) }()
			<-held
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
