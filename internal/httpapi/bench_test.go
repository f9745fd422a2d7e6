package httpapi_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/httpapi"
)

// BenchmarkTransports asks by every way there is, and asks a bare net/http server
// that answers with the same fields and the same body.
func BenchmarkTransports(b *testing.B) {
	s := prepareService(b, limits(), func(o *httpapi.Options) { o.AccessLog = httpapi.NewAccessLog(io.Discard) })
	s.stockDirectly(b)
	unknown, _ := access.Mint()
	for _, way := range []struct {
		name string
		open func(b *testing.B, server *http.Server, wrap func(net.Listener) net.Listener, path, key string) (ask func())
	}{
		{"plain", openHTTP1("HTTP/1.1", false)}, {"net-http", openHTTP1("HTTP/1.1", true)}, {"http1.0", openHTTP1("HTTP/1.0", false)}, {"http2-tls", openHTTP2},
	} {
		for _, op := range []struct{ name, path, key string }{
			{"get", "/pets/1", s.key}, {"list", "/pets?limit=20", s.key}, {"401", "/pets/1", unknown[:len(unknown)-1] + "-"},
		} {
			b.Run(way.name+"/"+op.name+"/service", func(b *testing.B) {
				server := s.api.Server()
				loop(b, way.open(b, server, s.front(server).Listener, op.path, op.key))
			})
			b.Run(way.name+"/"+op.name+"/bare", func(b *testing.B) {
				server := s.api.Server()
				server.Handler = sameAs(s.api, op.path, op.key, way.name == "http1.0")
				loop(b, way.open(b, server, func(l net.Listener) net.Listener { return l }, op.path, op.key))
			})
		}
	}
}

func loop(b *testing.B, ask func()) {
	ask()
	b.ReportAllocs()
	began := processorTime(b)
	for b.Loop() {
		ask()
	}
	b.ReportMetric(float64(processorTime(b)-began)/float64(b.N), "cpu-ns/op") // others may use the machine
}

func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// stockDirectly makes a category with some pets, without a connection.
func (s *service) stockDirectly(b *testing.B) {
	b.Helper()
	post := func(path, body string) {
		r := httptest.NewRequest("POST", path, strings.NewReader(body))
		r.Header["Authorization"], r.Header["Content-Type"] = []string{"Bearer " + s.key}, []string{"application/json"}
		w := httptest.NewRecorder()
		if s.api.ServeHTTP(w, r); w.Code != http.StatusCreated {
			b.Fatalf("POST %s = %d %s", path, w.Code, w.Body)
		}
	}
	post("/categories", `{"name":"Dogs"}`)
	for i := range 30 {
		post("/pets", fmt.Sprintf(`{"name":"Laika %d","categoryId":1}`, i))
	}
}

// sameAs returns a handler that answers with what the API answers.
func sameAs(api http.Handler, path, key string, http10 bool) http.Handler {
	r := httptest.NewRequest("GET", path, nil)
	r.Header["Authorization"] = []string{"Bearer " + key}
	if http10 {
		r.Proto, r.ProtoMinor = "HTTP/1.0", 0
	}
	answer := httptest.NewRecorder()
	api.ServeHTTP(answer, r)
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		for name, values := range answer.Header() {
			h[name] = values
		}
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes())
	})
}

func serveOn(b *testing.B, server *http.Server, wrap func(net.Listener) net.Listener) (addr string) {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	go func() { _ = server.Serve(wrap(l)) }()
	b.Cleanup(func() { _ = server.Close() })
	return l.Addr().String()
}

// openHTTP1 asks on one connection, or with HTTP/1.0 on a new one each time. The
// first request may be odd: then the connection is net/http's.
func openHTTP1(proto string, odd bool) func(*testing.B, *http.Server, func(net.Listener) net.Listener, string, string) func() {
	return func(b *testing.B, server *http.Server, wrap func(net.Listener) net.Listener, path, key string) func() {
		addr := serveOn(b, server, wrap)
		text := []byte("GET " + path + " " + proto + "\r\nHost: petstore.example\r\nAuthorization: Bearer " + key + "\r\nAccept: */*\r\n\r\n")
		var c net.Conn
		var in *bufio.Reader
		dial := func() {
			var err error
			if c, err = net.Dial("tcp", addr); err != nil {
				b.Fatal(err)
			}
			in = bufio.NewReader(c)
		}
		dial()
		b.Cleanup(func() { _ = c.Close() })
		first := odd
		return func() {
			send := text
			if first {
				send, first = bytes.Replace(text, []byte("Accept:"), []byte("Pragma: no-cache\r\nAccept:"), 1), false
			}
			if _, err := c.Write(send); err != nil {
				b.Fatal(err)
			}
			length := 0
			for {
				line, err := in.ReadSlice('\n')
				if err != nil {
					b.Fatal(err)
				}
				if rest, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
					_, _ = fmt.Sscan(string(rest), &length)
				}
				if len(line) == 2 {
					break
				}
			}
			_, _ = in.Discard(length)
			if proto == "HTTP/1.0" {
				_ = c.Close()
				dial()
			}
		}
	}
}

// openHTTP2 asks on one connection with TLS, by frames made once.
func openHTTP2(b *testing.B, server *http.Server, wrap func(net.Listener) net.Listener, path, key string) func() {
	lender := httptest.NewTLSServer(nil)
	lender.Close()
	config := &tls.Config{Certificates: lender.TLS.Certificates, NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS12}
	addr := serveOn(b, server, func(l net.Listener) net.Listener { return wrap(shakenListener{tls.NewListener(l, config)}) })
	roots := x509.NewCertPool()
	roots.AddCert(lender.Certificate())
	c, err := tls.Dial("tcp", addr, &tls.Config{RootCAs: roots, ServerName: "example.com", NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS12})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = c.Close() })
	out := bufio.NewWriter(c)
	f := http2.NewFramer(out, bufio.NewReader(c))
	_, _ = out.WriteString(http2.ClientPreface)
	_ = f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 30}, http2.Setting{ID: http2.SettingHeaderTableSize, Val: 0})
	_ = f.WriteWindowUpdate(0, 1<<30)
	var head bytes.Buffer
	e := hpack.NewEncoder(&head)
	e.SetMaxDynamicTableSize(0)
	for _, field := range [][2]string{{":method", "GET"}, {":scheme", "https"}, {":authority", "example.com"}, {":path", path}, {"authorization", "Bearer " + key}, {"accept", "*/*"}} {
		_ = e.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]})
	}
	stream := uint32(1)
	return func() {
		_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: head.Bytes(), EndStream: true, EndHeaders: true})
		if err := out.Flush(); err != nil {
			b.Fatal(err)
		}
		for done := false; !done; {
			frame, err := f.ReadFrame()
			if err != nil {
				b.Fatal(err)
			}
			h := frame.Header()
			switch {
			case h.Type == http2.FrameSettings && !h.Flags.Has(http2.FlagSettingsAck):
				_ = f.WriteSettingsAck()
			case h.Type == http2.FramePing && !h.Flags.Has(http2.FlagPingAck):
				_ = f.WritePing(true, frame.(*http2.PingFrame).Data)
			}
			done = h.StreamID == stream && h.Flags.Has(http2.FlagDataEndStream) && (h.Type == http2.FrameData || h.Type == http2.FrameHeaders)
		}
		stream += 2
	}
}

// A shakenListener accepts connections on which TLS is agreed.
type shakenListener struct{ net.Listener }

// Accept implements net.Listener.
func (l shakenListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return c, c.(*tls.Conn).Handshake()
}
