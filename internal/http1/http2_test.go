package http1

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// serveHTTP2 serves HTTP/2 without TLS, within limits that nothing reaches.
func serveHTTP2(t *testing.T, idle time.Duration, h http.HandlerFunc) net.Conn {
	t.Helper()
	l := newCrowdedListener(t, Limits{Connections: 9, Memory: 9 << 20})
	serveHTTP2On(t, l, idle, h)
	return l.dial("127.0.0.1")
}

func serveHTTP2On(t *testing.T, l net.Listener, idle time.Duration, h http.HandlerFunc) {
	t.Helper()
	server := &http.Server{Handler: h, IdleTimeout: idle, ReadHeaderTimeout: time.Minute, Protocols: new(http.Protocols)}
	server.Protocols.SetUnencryptedHTTP2(true)
	front := New(server, Options{})
	go func() { _ = server.Serve(front.Listener(l)) }() // until it is closed
	t.Cleanup(func() { server.Close() })
}

// pipeHTTP2 serves HTTP/2 on a connection in memory, each write to which is one read. The clock of a bubble goes on.
func pipeHTTP2(t *testing.T, idle time.Duration, h http.HandlerFunc) net.Conn {
	t.Helper()
	c, served := net.Pipe()
	l := &pipeListener{ends: make(chan net.Conn, 1), ended: make(chan struct{})}
	l.ends <- served
	serveHTTP2On(t, NewLimit(Limits{Connections: 9, Memory: 9 << 20}).Listener(l), idle, h)
	t.Cleanup(func() { _ = l.Close() })
	return c
}

// openStream begins HTTP/2 and opens a stream, the body of whose request goes on.
func openStream(t *testing.T, c net.Conn) {
	t.Helper()
	_, err := io.WriteString(c, http2.ClientPreface)
	frames := http2.NewFramer(c, c)
	head := []byte{}
	encoder := hpack.NewEncoder(writerFunc(func(p []byte) (int, error) { head = append(head, p...); return len(p), nil }))
	for _, f := range [][2]string{{":method", "POST"}, {":scheme", "http"}, {":authority", "x"}, {":path", "/"}} {
		err = errors.Join(err, encoder.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}))
	}
	err = errors.Join(err, frames.WriteSettings(), frames.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: head, EndHeaders: true}))
	must(t, err)
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// What a connection of HTTP/2 had is free when it has ended, even with requests open.
func TestHTTP2LeavesNothing(t *testing.T) {
	t.Parallel()
	members := make(chan weak.Pointer[countedConn], 1)
	c := serveHTTP2(t, time.Hour, func(_ http.ResponseWriter, r *http.Request) {
		members <- weak.Make(r.Context().Value(countedKey{}).(*countedConn))
		_, _ = io.Copy(io.Discard, r.Body) // until the connection ends
	})
	openStream(t, c)
	m := <-members
	c.Close()
	for deadline := time.Now().Add(10 * time.Second); m.Value() != nil; runtime.GC() {
		if time.Now().After(deadline) {
			t.Fatal("the connection is still in memory")
		}
	}
}

// Connections that break a rule of framing do not keep others waiting, one after the
// other, for the second that net/http keeps each of them.
func TestHTTP2BrokenRules(t *testing.T) {
	t.Parallel()
	l := newCrowdedListener(t, Limits{Connections: 1, Memory: 9 << 20})
	serveHTTP2On(t, l, time.Hour, func(http.ResponseWriter, *http.Request) {})
	for began, i := time.Now(), 0; i < 20; i++ {
		c := l.dial("127.0.0.1")
		f := http2.NewFramer(c, c)
		_, err := io.WriteString(c, http2.ClientPreface)
		if err = errors.Join(err, f.WriteSettings(), f.WriteRawFrame(http2.FramePing, 0, 0, nil)); err != nil {
			t.Fatal(err)
		}
		for goneAway := false; err == nil && !goneAway; {
			var frame http2.Frame
			frame, err = f.ReadFrame()
			_, goneAway = frame.(*http2.GoAwayFrame)
		}
		if err != nil || time.Since(began) > 10*time.Second {
			t.Fatalf("after %v, connection %d ended with %v, want an answer to each of 20 within 10s", time.Since(began), i, err)
		}
	}
}

// A connection of HTTP/2 is closed when it has had no request for the idle timeout,
// and not while it has one.
func TestHTTP2Idle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const idle = time.Minute
		var ended time.Time
		c := pipeHTTP2(t, idle, func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-time.After(3 * idle): // longer than the timeout
			case <-r.Context().Done():
				t.Error("the connection was closed while it had a request")
			}
			ended = time.Now()
		})
		go openStream(t, c) // while the server says something
		_, _ = io.Copy(io.Discard, c)
		if took := time.Since(ended); took != idle {
			t.Errorf("the connection ended %v after its request, want %v", took, idle)
		}
	})
}

// However the preface comes, its connection is one of HTTP/2: it ends when it is idle.
func TestPrefaceInParts(t *testing.T) {
	t.Parallel()
	for cut := range len(http2.ClientPreface) {
		t.Run(fmt.Sprint(cut), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := pipeHTTP2(t, time.Second, func(http.ResponseWriter, *http.Request) {})
				go func() {
					for _, part := range []string{http2.ClientPreface[:cut], http2.ClientPreface[cut:] + "\x00\x00\x00\x04\x00\x00\x00\x00\x00"} {
						if _, err := io.WriteString(c, part); err != nil {
							t.Error(err)
						}
					}
				}()
				began := time.Now()
				_, _ = io.Copy(io.Discard, c) // until the end
				if took := time.Since(began); took > 2*time.Second {
					t.Errorf("the connection ended after %v, want soon after the idle timeout of a second", took)
				}
			})
		})
	}
}
