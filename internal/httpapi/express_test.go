package httpapi_test

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"example.com/petstore/internal/httpapi"
)

// create returns a request that makes a category, so that what was carried out
// can be counted.
func create(name string) request {
	return request{method: "POST", path: "/categories", body: fmt.Sprintf(`{"name":%q}`, name)}
}

// TestPipelinedRequests sends many at once: they are answered in their order,
// the odd ones and what comes after them too.
func TestPipelinedRequests(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	w := s.dial(t)
	var all strings.Builder
	const many = 40
	for i := range many {
		r := create(fmt.Sprint("category ", i))
		r.header = map[string]string{"X-Request-Id": fmt.Sprint(i)}
		if i == many/2 {
			r.header["Pragma"] = "odd"
		}
		all.WriteString(r.text(s.key))
	}
	w.send(all.String())
	for i := range many {
		r := w.want("POST", http.StatusCreated)
		if want := fmt.Sprintf(`{"id":%d,"name":"category %d"}`, i+1, i); r.body != want || r.line("X-Request-Id") != fmt.Sprint(i) {
			t.Fatalf("answer %d to %s is %s, want %s", i, r.line("X-Request-Id"), r.body, want)
		}
	}
}

// TestRequestInTwoParts cuts a request, and the beginning of the next, at every
// byte.
func TestRequestInTwoParts(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	first := request{method: "POST", path: "/categories", key: "-", body: `{"name":"x"}`}.text("")
	text := first + first
	for i := 1; i < len(text); i++ {
		w := s.dial(t)
		w.send(text[:i])
		if i >= len(first) {
			w.want("POST", http.StatusUnauthorized) // so the rest is in another read
		}
		w.send(text[i:])
		w.want("POST", http.StatusUnauthorized)
		if i < len(first) {
			w.want("POST", http.StatusUnauthorized)
		}
		_ = w.Close()
	}
}

// TestOddRequestsBetween has requests that only net/http reads come between
// others on one connection, and first on it.
func TestOddRequestsBetween(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	post := fmt.Sprintf("POST /categories HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n", s.key)
	get := request{method: "GET", path: "/account"}.text(s.key)
	for _, test := range []struct {
		name, text string
		status     int
		last       bool
		least      int // requests before it
	}{
		{"chunked", post + "Transfer-Encoding: chunked\r\n\r\nc\r\n{\"name\":\"x\"}\r\n0\r\n\r\n", 201, true, 0},
		{"both lengths", post + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\nc\r\n{\"name\":\"x\"}\r\n0\r\n\r\n", 201, true, 0},
		{"absolute form", strings.Replace(get, "/account", "http://b/account", 1), 200, false, 0},
		{"Connection: close", strings.Replace(get, "\r\n", "\r\nConnection: close\r\n", 1), 200, true, 0},
		{"HTTP/1.0", strings.Replace(get, "HTTP/1.1", "HTTP/1.0", 1), 200, true, 0},
		{"empty line", "\r\n" + get, 200, false, 1},
		{"folded", strings.Replace(get, "\r\n", "\r\nX: a\r\n b\r\n", 1), 200, false, 0},
		{"two hosts", strings.Replace(get, "\r\n", "\r\nHost: b\r\n", 1), 400, true, 0},
		{"space before the colon", strings.Replace(get, "Host:", "Host :", 1), 400, true, 0},
		{"two lengths", post + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}}", 400, true, 0},
		{"signed length", post + "Content-Length: +2\r\n\r\n{}", 400, true, 0},
		{"NUL", strings.Replace(get, "\r\n", "\r\nX: \x00\r\n", 1), 400, true, 0},
	} {
		for before := range 3 {
			t.Run(fmt.Sprint(test.name, " after ", before), func(t *testing.T) {
				t.Parallel()
				w := s.dial(t)
				for range max(before, test.least) {
					w.send(get)
					w.want("GET", http.StatusOK)
				}
				w.send(test.text + get)
				if r := w.want("GET", test.status); r.last() != test.last {
					t.Errorf("the header is %q, want that it is the last to be %t", r.lines, test.last)
				}
				if test.last {
					w.ended()
				} else {
					w.want("GET", http.StatusOK)
				}
			})
		}
	}
}

// TestExpectation: the client waits for leave to send its body.
func TestExpectation(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	w := s.dial(t)
	w.send(create("one").text(s.key))
	w.want("POST", http.StatusCreated)
	r := create("two")
	r.header = map[string]string{"Expect": "100-continue"}
	head, body, _ := strings.Cut(r.text(s.key), "\r\n\r\n")
	w.send(head + "\r\n\r\n")
	w.want("POST", http.StatusContinue)
	w.send(body)
	w.want("POST", http.StatusCreated)
	w.send(create("three").text(s.key))
	w.want("POST", http.StatusCreated)
}

// TestBodiesOfAllSizes: those that fit into a buffer, those that do not, and
// those that are too long, one after the other and each in two writes.
func TestBodiesOfAllSizes(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	w := s.dial(t)
	for i, test := range []struct{ size, status int }{
		{20, 201}, {3000, 201}, {3700, 201}, {3900, 201}, {4096, 201}, {5000, 201}, {40, 201}, {64 << 10, 201}, {64<<10 + 1, 413},
	} {
		r := create("x")
		r.body += strings.Repeat(" ", test.size-len(r.body))
		head, body, _ := strings.Cut(r.text(s.key), "\r\n\r\n")
		w.send(head + "\r\n\r\n" + body[:10])
		w.send(body[10:])
		if got := w.next("POST"); got.status != test.status {
			t.Fatalf("%d: a body of %d bytes is answered %d %s, want %d", i, test.size, got.status, got.body, test.status)
		}
	}
}

// TestFirstFourteenBytes cuts within and around what net/http reads first, to
// find the preface of HTTP/2.
func TestFirstFourteenBytes(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	for _, text := range []string{
		request{method: "GET", path: "/pets"}.text(s.key),
		request{method: "DELETE", path: "/store/orders/1"}.text(s.key),
		"GET /pets HTTP/1.0\r\nAuthorization: Bearer " + s.key + "\r\n\r\n",
		"OPTIONS /pets HTTP/1.1\r\nHost: a\r\n\r\n",
	} {
		for _, at := range []int{13, 14, 15, 17, 18, 19} {
			w := s.dial(t)
			w.send(text[:at])
			w.send(text[at:])
			if r := w.next("GET"); r.status >= 500 || r.status == 400 {
				t.Errorf("%.30q cut at %d = %d %s", text, at, r.status, r.body)
			}
			_ = w.Close()
		}
	}
}

// A shakenListener accepts connections on which TLS is agreed.
type shakenListener struct{ net.Listener }

func (l shakenListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if c.(*tls.Conn).Handshake() == nil {
			return c, nil
		}
	}
}

// openSecureShop serves the shop over TLS, and returns what clients need to
// trust it.
func openSecureShop(t *testing.T, change ...func(*httpapi.Options)) (*shop, *tls.Config) {
	t.Helper()
	s := prepareShop(t, limits(), change...)
	lender := httptest.NewTLSServer(nil)
	lender.Close()
	server := httptest.NewUnstartedServer(nil)
	server.Config = s.api.Server()
	server.Listener = s.api.Listener(shakenListener{tls.NewListener(server.Listener, &tls.Config{
		Certificates: lender.TLS.Certificates, NextProtos: []string{"h2", "http/1.1"}, MinVersion: tls.VersionTLS12,
	})})
	server.Start()
	t.Cleanup(server.Close)
	s.url = server.URL
	roots := x509.NewCertPool()
	roots.AddCert(lender.Certificate())
	return s, &tls.Config{RootCAs: roots, ServerName: "example.com", MinVersion: tls.VersionTLS12}
}

func (s *shop) dialTLS(t *testing.T, config *tls.Config) *wire {
	t.Helper()
	c, err := tls.Dial("tcp", strings.TrimPrefix(s.url, "http://"), config)
	if err != nil {
		t.Fatal(err)
	}
	return newWire(t, c)
}

func TestExpressUnderTLS(t *testing.T) {
	t.Parallel()
	s, trust := openSecureShop(t)
	w := s.dialTLS(t, trust)
	for range 3 {
		w.send(create("x").text(s.key))
		if r := w.want("POST", http.StatusCreated); r.line("Strict-Transport-Security") == "" {
			t.Errorf("no Strict-Transport-Security in %q", r.lines)
		}
	}
	if n := s.api.ExpressConns(); n != 1 {
		t.Errorf("%d connections are express, want 1", n)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: trust, ForceAttemptHTTP2: true}}
	t.Cleanup(client.CloseIdleConnections)
	req, err := http.NewRequestWithContext(t.Context(), "GET", strings.Replace(s.url, "http:", "https:", 1)+"/pets", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.ProtoMajor != 2 || resp.StatusCode != http.StatusUnauthorized || resp.Header.Get("Strict-Transport-Security") == "" {
		t.Errorf("HTTP/%d %d with %v, want HTTP/2 401 with Strict-Transport-Security", resp.ProtoMajor, resp.StatusCode, resp.Header)
	}
}

// TestBuffers: a connection that sent nothing holds no buffer, one that was used
// holds one, one that was handed over holds none of ours.
func TestBuffers(t *testing.T) {
	t.Parallel()
	live(t, func(t *testing.T, s *shop, dial func() *wire) {
		holds := func(what string, buffers, conns int) {
			t.Helper()
			synctest.Wait()
			if gotBuffers, gotConns := s.api.ExpressBuffers(), s.api.ExpressConns(); gotBuffers != buffers || gotConns != conns {
				t.Errorf("%s: %d buffers of %d connections, want %d of %d", what, gotBuffers, gotConns, buffers, conns)
			}
		}
		w := dial()
		holds("silent", 0, 1)
		w.send(request{method: "GET", path: "/account"}.text(s.key))
		w.want("GET", http.StatusOK)
		holds("used", 1, 1)
		w.send("OPTIONS /pets HTTP/1.1\r\nHost: a\r\n\r\n")
		w.want("OPTIONS", http.StatusNoContent)
		holds("handed over", 0, 0)
	})
}
