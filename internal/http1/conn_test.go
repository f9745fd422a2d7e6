package http1

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"example.com/petstore/internal/processtest"
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
		processtest.Eventually(t, "the connection ends", func() bool { conns, _ := s.numbers(); return conns == 0 })
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

// TestEmptyLines between requests are skipped, however many there are, and nothing else is.
func TestEmptyLines(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	for between, status := range map[string]int{"": 200, "\n": 200, "\r\n": 200, "\r\n\n\r\n\r\n": 200, " ": 400, "\r\n ": 400} {
		for _, together := range []bool{true, false} {
			w := s.dial(t)
			if w.Send(post("x")); together {
				w.Send(between + getAccount)
			}
			w.Want("POST", http.StatusCreated)
			if !together {
				w.Send(between)
				w.Send(getAccount)
			}
			if got := w.Status(); got != status {
				t.Errorf("after %q the status is %d, want %d", between, got, status)
			}
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

// TestWhatIsKept: a handler that keeps what it got of a request does not see the next one in it.
func TestWhatIsKept(t *testing.T) {
	t.Parallel()
	s := newSite()
	var kept []*http.Request
	s.server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kept = append(kept, r)
		answer(w, http.StatusOK, r.Header.Get("X-Request-Id"))
	})
	s.serve(t, s.front.Listener)
	w := s.dial(t)
	for i := range 5 {
		w.Send(fmt.Sprintf("POST /categories?%d HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nX-Request-Id: %d\r\n\r\n%d", i, i, i))
		if r := w.Want("POST", http.StatusOK); r.Body != fmt.Sprint(i) {
			t.Errorf("the answer to %d is %q", i, r.Body)
		}
	}
	for i, r := range kept {
		body, err := io.ReadAll(r.Body)
		if got := fmt.Sprint(r.URL.RawQuery, r.Header.Get("X-Request-Id"), string(body)); got != strings.Repeat(fmt.Sprint(i), 3) || err != nil {
			t.Errorf("request %d is kept as %s, %v", i, got, err)
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
	processtest.Eventually(t, "the broken connection to end", func() bool { n, _ := s.numbers(); return n == 1 })
}
