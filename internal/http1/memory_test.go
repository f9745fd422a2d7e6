package http1

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"example.com/petstore/internal/fairshare"
	"example.com/petstore/internal/processtest"
)

// A larder answers a request for a number with as many bytes, to the workspace that the
// request names.
func larder(w http.ResponseWriter, r *http.Request) {
	if id, err := strconv.ParseInt(r.Header.Get("Workspace"), 10, 64); err == nil {
		Recognize(w, id, "key_"+r.Header.Get("Workspace"))
	}
	Begin(w, r)
	n, _ := strconv.Atoi(r.URL.Path[1:]) // the tests ask for numbers
	_, _ = w.Write(bytes.Repeat([]byte("x"), n))
}

// openLarder serves a larder over HTTP/1.1 and, without TLS, HTTP/2, within limits.
func openLarder(t *testing.T, l Limits) (*Limit, func() net.Conn) {
	t.Helper()
	crowded := newCrowdedListener(t, l)
	server := &http.Server{Handler: http.HandlerFunc(larder), IdleTimeout: time.Minute, ReadHeaderTimeout: time.Minute, WriteTimeout: time.Minute, Protocols: new(http.Protocols)}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	front := New(server, Options{Plain: func(path string) bool { return true }})
	go func() { _ = server.Serve(front.Listener(crowded)) }() // until it is closed
	t.Cleanup(func() { server.Close() })
	return crowded.Limit, func() net.Conn { return crowded.dial("127.0.0.1") }
}

// A frameClient speaks HTTP/2, with a window for each stream that it chooses.
type frameClient struct {
	*http2.Framer
	t    *testing.T
	conn net.Conn
	head bytes.Buffer
	next uint32
}

func newFrameClient(t *testing.T, c net.Conn, window uint32) *frameClient {
	t.Helper()
	f := &frameClient{Framer: http2.NewFramer(c, c), t: t, conn: c, next: 1}
	_, err := io.WriteString(c, http2.ClientPreface)
	if err = errors.Join(err, f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: window})); err != nil {
		t.Fatal(err)
	}
	return f
}

// get asks for a path in the name of a workspace, and returns the stream.
func (f *frameClient) get(path, workspace string) uint32 {
	f.t.Helper()
	f.head.Reset()
	encoder := hpack.NewEncoder(&f.head)
	encoder.SetMaxDynamicTableSize(0)
	for _, field := range [][2]string{{":method", "GET"}, {":scheme", "http"}, {":authority", "x"}, {":path", path}, {"workspace", workspace}} {
		must(f.t, encoder.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]}))
	}
	id := f.next
	f.next += 2
	must(f.t, f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: f.head.Bytes(), EndHeaders: true, EndStream: true}))
	return id
}

// ended waits until the stream has ended, and reports whether it was reset.
func (f *frameClient) ended(stream uint32) (reset bool) {
	f.t.Helper()
	must(f.t, f.conn.SetReadDeadline(time.Now().Add(20*time.Second)))
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			f.t.Fatalf("the stream %d did not end: %v", stream, err)
		}
		if frame.Header().StreamID != stream {
			continue
		}
		switch frame := frame.(type) {
		case *http2.RSTStreamFrame:
			return true
		case *http2.DataFrame:
			if frame.StreamEnded() {
				return false
			}
		}
	}
}

// Requests of HTTP/2 whose answers a client does not take hold no more memory than there
// is. The oldest of the workspace that holds most is reset for one that holds less.
func TestHTTP2AnswersThatNobodyTakes(t *testing.T) {
	t.Parallel()
	limit, dial := openLarder(t, Limits{Connections: 9, Memory: 6 * requestCost})
	greedy := newFrameClient(t, dial(), 0)
	first := greedy.get("/1000", "1")
	processtest.Eventually(t, "the first waits", func() bool { return limit.Memory().Used == requestCost })
	for i := range int64(5) {
		greedy.get("/1000", "1")
		processtest.Eventually(t, "another waits", func() bool { return limit.Memory().Used == (2+i)*requestCost })
	}
	modest := newFrameClient(t, dial(), 1<<20)
	if modest.ended(modest.get("/1000", "2")) {
		t.Error("a request of a workspace that holds nothing was reset")
	}
	if !greedy.ended(first) {
		t.Error("the oldest request of the workspace that holds most was answered, want it reset")
	}
	greedy.conn.Close()
	processtest.Eventually(t, "all is given back", func() bool { return limit.Memory().Used == 0 })
}

// Answers that clients of HTTP/1.1 do not read count, and the connection of the oldest ends
// for another workspace.
func TestAnswersThatNobodyReads(t *testing.T) {
	t.Parallel()
	const size = 8 << 20 // more than the system keeps for a connection
	for _, way := range []string{"plain", "net/http"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			limit, dial := openLarder(t, Limits{Connections: 9, Memory: 3*size + 1<<16})
			get := func(workspace string) net.Conn {
				request := "GET /" + strconv.Itoa(size) + " HTTP/1.1\r\nHost: x\r\nWorkspace: " + workspace + "\r\n"
				if way != "plain" {
					request += "Pragma: no-cache\r\n"
				}
				c := dial()
				if _, err := io.WriteString(c, request+"\r\n"); err != nil {
					t.Fatal(err)
				}
				return c
			}
			first := get("1")
			for used := int64(size); used <= 3*size; used += size {
				if used > size {
					get("1")
				}
				processtest.Eventually(t, "another answer waits", func() bool { return limit.Memory().Used >= used })
			}
			modest := get("2")
			must(t, errors.Join(first.SetReadDeadline(time.Now().Add(20*time.Second)), modest.SetReadDeadline(time.Now().Add(20*time.Second))))
			if n, err := io.CopyN(io.Discard, modest, size); err != nil {
				t.Errorf("the modest client read %d of %d bytes: %v", n, size, err)
			}
			if n, err := io.Copy(io.Discard, first); n >= size || errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("the first client read %d bytes and then %v, want its connection closed before the end", n, err)
			}
		})
	}
}

// Nothing more is read of a client of HTTP/2 that does not read what it was sent.
func TestHTTP2ClientThatDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, served := net.Pipe()
		m := &countedConn{Conn: served, writing: make(chan struct{}, 1)}
		m.http2.Store(true)
		var reads atomic.Int64
		go func() { _, _ = m.Write([]byte("to the client")) }()
		synctest.Wait()
		go func() {
			for b := make([]byte, 1); ; reads.Add(1) {
				if _, err := m.Read(b); err != nil {
					return
				}
			}
		}()
		go func() { _, _ = client.Write([]byte("PINGs")) }()
		if synctest.Wait(); reads.Load() != 0 {
			t.Errorf("%d reads returned while a write waited for the client", reads.Load())
		}
		_, err := io.ReadFull(client, make([]byte, len("to the client")))
		if synctest.Wait(); reads.Load() != int64(len("PINGs")) || err != nil {
			t.Errorf("%d reads returned after the write, %v, want all", reads.Load(), err)
		}
		client.Close()
	})
}

func TestHold(t *testing.T) {
	t.Parallel()
	l := newCrowdedListener(t, Limits{Connections: 9, Memory: 100 << 10})
	held, done := make(chan error), make(chan struct{})
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		size, _ := strconv.ParseInt(r.URL.Path[1:], 10, 64) // the test asks for numbers
		Recognize(w, 1, "key")
		held <- Hold(w, size)
		<-done
	})}
	front := New(server, Options{})
	go func() { _ = server.Serve(front.Listener(l)) }() // until it is closed
	t.Cleanup(func() { server.Close() })
	for _, size := range []struct {
		path string
		want error
	}{{"/60000", nil}, {"/30000", nil}, {"/30000", ErrMemory}} {
		if _, err := io.WriteString(l.dial("127.0.0.1"), "GET "+size.path+" HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if err := <-held; !errors.Is(err, size.want) {
			t.Errorf("Hold(%s) = %v, want %v", size.path, err, size.want)
		}
	}
	close(done)
	processtest.Eventually(t, "all is given back", func() bool { return l.Memory().Used == 0 })
}

// A request that gives way stops at once, also while it waits for memory for its answer:
// others wait for what it holds.
func TestGivingWayWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := NewLimit(Limits{Memory: 4 * requestCost})
		requests := make([]*meteredWriter, 3)
		for i, workspace := range []int64{1, 1, 2} {
			ctx, cancel := context.WithCancel(t.Context())
			requests[i] = &meteredWriter{
				ResponseWriter: httptest.NewRecorder(), m: &countedConn{limit: limit}, ctx: ctx, cancel: cancel,
				holder: fairshare.Holder{Workspace: workspace},
			}
		}
		oldest, other, comes := requests[0], requests[1], requests[2]
		must(t, errors.Join(oldest.hold(2*requestCost), other.hold(2*requestCost)))
		go func() {
			defer oldest.end()
			if _, err := oldest.Write(make([]byte, Covered+1)); !errors.Is(err, ErrMemory) {
				t.Errorf("Write() of a request that gave way = %v, want ErrMemory", err)
			}
		}()
		synctest.Wait()
		began := time.Now()
		if err := comes.hold(requestCost); err != nil || time.Since(began) > 0 {
			t.Errorf("another workspace got memory after %v (%v), want it at once", time.Since(began), err)
		}
		if oldest.ctx.Err() == nil || other.ctx.Err() != nil {
			t.Errorf("the context of the request that gave way is done: %v; that of the other: %v", oldest.ctx.Err() != nil, other.ctx.Err() != nil)
		}
		other.end()
		comes.end()
	})
}

// A page of the console holds memory before its session is known. From then on its workspace
// holds it, and no more the address: another request of the workspace does not end the page.
func TestRecognizedAfterBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := NewLimit(Limits{Memory: 4 * requestCost})
		request := func() *meteredWriter {
			ctx, cancel := context.WithCancel(t.Context())
			return &meteredWriter{
				ResponseWriter: httptest.NewRecorder(), m: &countedConn{limit: limit, exempt: true}, ctx: ctx, cancel: cancel,
				holder: fairshare.HolderAt(netip.MustParseAddr("192.0.2.1")),
			}
		}
		page, comes := request(), request()
		must(t, page.hold(4*requestCost))
		page.recognize(1, "key")
		comes.recognize(1, "key")
		if err := comes.hold(requestCost); !errors.Is(err, ErrMemory) || page.ctx.Err() != nil {
			t.Errorf("another request of the workspace: %v, want ErrMemory; the page gave way: %v", err, page.ctx.Err() != nil)
		}
		page.end()
		comes.end()
	})
}
