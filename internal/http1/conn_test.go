package http1

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"example.com/petstore/internal/http1/http1test"
)

// TestRequestInTwoParts cuts a request, and the beginning of the next, at every
// byte.
func TestRequestInTwoParts(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	first := post("x")
	text := first + first
	for i := 1; i < len(text); i++ {
		w := s.dial(t)
		w.Send(text[:i])
		if i >= len(first) {
			w.Want("POST", http.StatusCreated) // so the rest is in another read
		}
		w.Send(text[i:])
		w.Want("POST", http.StatusCreated)
		if i < len(first) {
			w.Want("POST", http.StatusCreated)
		}
		if conns, _ := s.numbers(); conns != 1 {
			t.Errorf("cut at %d: %d connections are not net/http's, want 1", i, conns)
		}
		_ = w.Close()
		waitFor(t, "the connection ends", func() bool { conns, _ := s.numbers(); return conns == 0 })
	}
}

// TestOddRequestsBetween has requests that only net/http reads come between
// others on one connection, and first on it: the answers are net/http's.
func TestOddRequestsBetween(t *testing.T) {
	t.Parallel()
	const begin = "POST /categories HTTP/1.1\r\nHost: a\r\n"
	for _, test := range []struct {
		name, text string
		status     int
		last       bool
	}{
		{"chunked", begin + "Transfer-Encoding: chunked\r\n\r\nc\r\n{\"name\":\"x\"}\r\n0\r\n\r\n", 201, true},
		{"both lengths", begin + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\nc\r\n{\"name\":\"x\"}\r\n0\r\n\r\n", 201, true},
		{"absolute form", strings.Replace(getAccount, "/account", "http://b/account", 1), 200, false},
		{"Connection: close", strings.Replace(getAccount, "\r\n", "\r\nConnection: close\r\n", 1), 200, true},
		{"HTTP/1.0", strings.Replace(getAccount, "HTTP/1.1", "HTTP/1.0", 1), 200, true},
		{"empty line", "\r\n" + getAccount, 400, true},
		{"LF alone", strings.ReplaceAll(getAccount, "\r\n", "\n"), 200, false},
		{"folded", strings.Replace(getAccount, "\r\n", "\r\nX: a\r\n b\r\n", 1), 200, false},
		{"two hosts", strings.Replace(getAccount, "\r\n", "\r\nHost: b\r\n", 1), 400, true},
		{"space before the colon", strings.Replace(getAccount, "Host:", "Host :", 1), 400, true},
		{"two lengths", begin + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}}", 400, true},
		{"signed length", begin + "Content-Length: +2\r\n\r\n{}", 400, true},
		{"NUL", strings.Replace(getAccount, "\r\n", "\r\nX: \x00\r\n", 1), 400, true},
		{"no Host", "GET /account HTTP/1.1\r\n\r\n", 400, true},
		{"PRI on a path", "PRI /pets HTTP/1.1\r\nHost: a\r\n\r\n", 404, true},
		{"other version", "PRI * HTTP/2.1\r\n\r\nSM\r\n\r\n", 505, true},
	} {
		for before := range 3 {
			t.Run(fmt.Sprint(test.name, " after ", before), func(t *testing.T) {
				t.Parallel()
				s := openSite(t)
				w := s.dial(t)
				for range before {
					w.Send(getAccount)
					w.Want("GET", http.StatusOK)
				}
				w.Send(test.text + getAccount)
				if r := w.Want("GET", test.status); r.Last() != test.last {
					t.Errorf("the header is %q, want that it is the last to be %t", r.Lines, test.last)
				}
				if test.last {
					w.Ended()
				} else {
					w.Want("GET", http.StatusOK)
				}
			})
		}
	}
}

// TestPrefaceAfterARequest: HTTP/2 begins with a connection or not at all.
func TestPrefaceAfterARequest(t *testing.T) {
	t.Parallel()
	const h2 = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"
	onBothWays(t, func(t *testing.T, s *site) {
		for _, cut := range []int{1, 3, 4, 14, 24, len(h2)} {
			w := s.dial(t)
			w.Send(getAccount)
			w.Want("GET", http.StatusOK)
			w.Send(h2[:cut])
			_, _ = io.WriteString(w, h2[cut:])
			if r := w.Want("PRI", http.StatusNotFound); !r.Last() {
				t.Errorf("cut at %d: the header is %q, want that it is the last", cut, r.Lines)
			}
			w.Ended()
		}
		w := s.dial(t)
		w.Send(h2)
		if first := make([]byte, 9); true {
			if _, err := io.ReadFull(w, first); err != nil || first[3] != 4 {
				t.Errorf("a first preface is answered by %q, %v, want SETTINGS", first, err)
			}
		}
	})
}

// TestEmptyLines between requests are net/http's: some after a POST, none after
// others.
func TestEmptyLines(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		first, between string
		status         int
	}{
		{post("x"), "", 200},
		{post("x"), "\n", 200},
		{post("x"), "\r\n", 200},
		{post("x"), "\r\n\r\n", 200},
		{post("x"), "\n\n\n\n", 200},
		{post("x"), "\r\n\r\n\r\n", 400},
		{post("x"), " ", 400},
		{getAccount, "\r\n", 400},
		{getAccount, "\n", 400},
		{"PUT /categories HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx", "\r\n", 400},
	} {
		for _, together := range []bool{true, false} {
			t.Run(fmt.Sprintf("%.4s%q %t", test.first, test.between, together), func(t *testing.T) {
				t.Parallel()
				onBothWays(t, func(t *testing.T, s *site) {
					w := s.dial(t)
					if w.Send(test.first); together {
						w.Send(test.between + getAccount)
					}
					w.Next("POST")
					if !together {
						w.Send(test.between)
						w.Send(getAccount)
					}
					if status := w.Status(); status != test.status {
						t.Errorf("after %q the status is %d, want %d", test.between, status, test.status)
					}
				})
			})
		}
	}
}

// TestBodiesOfAllSizes: those that fit into a buffer, those that do not, and
// those that are too long, one after the other and each in two writes.
func TestBodiesOfAllSizes(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	w := s.dial(t)
	for i, test := range []struct{ size, status int }{
		{20, 201}, {3000, 201}, {3700, 201}, {4096, 201}, {5000, 201}, {40, 201}, {mostBody, 201}, {mostBody + 1, 413},
	} {
		head, body, _ := strings.Cut(post("x"+strings.Repeat(" ", test.size-1)), "\r\n\r\n")
		w.Send(head + "\r\n\r\n" + body[:10])
		w.Send(body[10:])
		if got := w.Next("POST"); got.Status != test.status {
			t.Fatalf("%d: a body of %d bytes is answered %d %s, want %d", i, test.size, got.Status, got.Body, test.status)
		}
	}
}

// TestNotPlain: a request with the field is net/http's, whatever letters name it.
func TestNotPlain(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	w := s.dial(t)
	for _, c := range []struct {
		field string
		front int // connections that net/http does not have
	}{{"X-Short: 1", 1}, {"x-long: 1", 0}} {
		w.Send("GET /account HTTP/1.1\r\nHost: a\r\n" + c.field + "\r\n\r\n")
		w.Want("GET", http.StatusOK)
		if n, _ := s.numbers(); n != c.front {
			t.Errorf("after a request with %s, the front has %d connections, want %d", c.field, n, c.front)
		}
	}
}

func TestPlainUnderTLS(t *testing.T) {
	t.Parallel()
	s, trust := openSecureSite(t)
	w := s.dialTLS(t, trust)
	for range 3 {
		w.Send(post("x"))
		w.Want("POST", http.StatusCreated)
	}
	if n, _ := s.numbers(); n != 1 {
		t.Errorf("%d connections are not net/http's, want 1", n)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: trust, ForceAttemptHTTP2: true}}
	t.Cleanup(client.CloseIdleConnections)
	req, err := http.NewRequestWithContext(t.Context(), "GET", "https://"+s.addr+"/categories", nil)
	must(t, err)
	resp, err := client.Do(req)
	must(t, err)
	defer resp.Body.Close()
	if resp.ProtoMajor != 2 || resp.StatusCode != http.StatusOK {
		t.Errorf("HTTP/%d %d, want HTTP/2 200", resp.ProtoMajor, resp.StatusCode)
	}
}

// TestBuffers: a connection that sent nothing holds no buffer, one that was used
// holds one, one that was handed over holds none of ours.
func TestBuffers(t *testing.T) {
	t.Parallel()
	live(t, func(t *testing.T, s *site, dial func() *http1test.Wire) {
		holds := func(what string, buffers, conns int) {
			t.Helper()
			synctest.Wait()
			gotConns, _ := s.numbers()
			if gotBuffers := s.buffers(); gotBuffers != buffers || gotConns != conns {
				t.Errorf("%s: %d buffers of %d connections, want %d of %d", what, gotBuffers, gotConns, buffers, conns)
			}
		}
		w := dial()
		holds("silent", 0, 1)
		w.Send(getAccount)
		w.Want("GET", http.StatusOK)
		holds("used", 1, 1)
		w.Send("OPTIONS /pets HTTP/1.1\r\nHost: a\r\n\r\n")
		w.Want("OPTIONS", http.StatusNoContent)
		holds("handed over", 0, 0)
	})
}

// TestEarlyAnswer: a body that is too long is refused before it is there, and
// the client reads the refusal and the end, not a reset.
func TestEarlyAnswer(t *testing.T) {
	t.Parallel()
	onBothWays(t, func(t *testing.T, s *site) {
		w := s.dial(t)
		w.Send("POST /categories HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n" + strings.Repeat("x", mostBody+1))
		if r := w.Want("POST", http.StatusRequestEntityTooLarge); !r.Last() {
			t.Errorf("the header is %q, want that it is the last", r.Lines)
		}
		_, _ = io.WriteString(w, strings.Repeat("x", 100)) // unread by the server
		if rest, err := io.ReadAll(w); len(rest) > 0 || err != nil {
			t.Errorf("after the answer come %q, %v, want the end", rest, err)
		}
	})
}

// TestHalfClosedClient sends a request and closes the sending side: it is
// answered all the same.
func TestHalfClosedClient(t *testing.T) {
	t.Parallel()
	onBothWays(t, func(t *testing.T, s *site) {
		for range 10 {
			w := s.dial(t)
			w.Send(post("x"))
			must(t, w.Conn.(*net.TCPConn).CloseWrite())
			w.Want("POST", http.StatusCreated)
			w.Ended()
		}
	})
}

// TestWhatIsKept: a handler that keeps and changes what it got of a request does
// not touch another.
func TestWhatIsKept(t *testing.T) {
	t.Parallel()
	s := newSite()
	type kept struct {
		r    *http.Request
		ctx  context.Context //nolint:containedctx // it is what may be kept
		w    http.ResponseWriter
		done <-chan struct{}
	}
	var all []kept
	s.server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer own" || len(r.Header) != 3 || r.Context().Err() != nil || r.URL.RawQuery != "" {
			t.Errorf("the request is %v %v, %v, want its own", r.URL, r.Header, r.Context().Err())
		}
		for i, before := range all {
			if before.r == r || before.ctx.Err() == nil {
				t.Errorf("the request before is this one: %v", before.ctx.Err())
			}
			before.r.Header.Set("Authorization", "Bearer stranger")
			before.r.Header["X-Request-Id"][0] = "stranger"
			before.r.URL.RawQuery = "stranger"
			before.w.Header().Set("X-Request-Id", "stranger")
			_, _ = io.WriteString(before.w, "stranger")
			want := "" // it was read by the request between
			if i == len(all)-1 {
				want = fmt.Sprint(i)
			}
			if text, err := io.ReadAll(before.r.Body); string(text) != want || err != nil {
				t.Errorf("the body of a request before reads as %q, %v, want %q", text, err, want)
			}
		}
		one := kept{r: r, ctx: r.Context(), w: w}
		if len(all)%2 == 0 {
			one.done = one.ctx.Done()
		}
		all = append(all, one)
		answer(w, http.StatusOK, r.Header.Get("X-Request-Id"))
	})
	s.serve(t, s.front.Listener)
	w := s.dial(t)
	for i := range 5 {
		w.Send("POST /categories HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nAuthorization: Bearer own\r\nX-Request-Id: own\r\n\r\n" + fmt.Sprint(i))
		if r := w.Want("POST", http.StatusOK); r.Body != "own" || r.Line("X-Request-Id") != "" {
			t.Errorf("the answer is %q with %q, want the request's own", r.Body, r.Lines)
		}
	}
	for _, one := range all {
		if one.done != nil {
			<-one.done
		}
	}
}

// TestAbort breaks one connection, and no other.
func TestAbort(t *testing.T) {
	t.Parallel()
	s := newSite()
	s.server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Request-Id") == "abort" {
			panic(http.ErrAbortHandler)
		}
		s.ServeHTTP(w, r)
	})
	s.serve(t, s.front.Listener)
	whole, broken := s.dial(t), s.dial(t)
	for range 3 {
		whole.Send(getAccount)
		whole.Want("GET", http.StatusOK)
	}
	text := strings.Replace(getAccount, "\r\n", "\r\nX-Request-Id: abort\r\n", 1)
	broken.Send(text + text)
	broken.Ended()
	whole.Send(getAccount)
	whole.Want("GET", http.StatusOK)
	waitFor(t, "the broken connection to end", func() bool { n, _ := s.numbers(); return n == 1 })
}
