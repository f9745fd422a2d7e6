package security

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/petstore/test/servertest"
)

// farewell is a request for nothing after which a connection ends.
const farewell = get + "Connection: close\r\n\r\n"

// complete returns what is sent for a vector, and the statuses that must come
// before the connection ends. Where it would go on, a farewell follows: it is
// answered if the bytes before were split as they must be.
func (v vector) complete(key string) (raw string, want []int) {
	raw, want = strings.ReplaceAll(v.raw, "KEY", key), slices.Clone(v.want)
	if !v.closes {
		return raw + farewell, append(want, http.StatusNotFound)
	}
	return raw, want
}

// TestSmuggling sends each vector first on a connection, without TLS and within. The
// log shows that no other request was made of any.
func TestSmuggling(t *testing.T) {
	t.Parallel()
	onLoopbacks(t)
	for name, secure := range map[string]bool{"plain": false, "TLS": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			key := s.workspace("shop")
			var flags []string
			if secure {
				flags = certify(t, s.dir, "shop")
			}
			s.serve(flags...)
			asked := 0
			for i, v := range vectors() {
				asked += len(v.want) - 1
				raw, want := v.complete(key)
				l := s.dialFrom(fmt.Sprint("127.0.1.", i))
				l.write(t, raw)
				if got := l.statuses(t); !slices.Equal(got, want) {
					t.Errorf("%s: answers %v, want %v", v.name, got, want)
				}
			}
			if err := s.Stop(); err != nil { // the log is complete
				t.Error(err)
			}
			if n := strings.Count(s.LogText(), "/smuggled"); n != asked {
				t.Errorf("/smuggled was asked for %d times, want %d: by those that have it as a request of its own", n, asked)
			}
		})
	}
}

// A line is a connection on which requests are written and answers read.
type line struct {
	net.Conn
	in *bufio.Reader
}

// dialFrom comes from an address of the loopback, over TLS if that is spoken: what
// cannot be read has no key, and is counted by address.
func (s *site) dialFrom(from string) line {
	s.t.Helper()
	dial := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: servertest.Patience}
	addr, secure := strings.CutPrefix(s.URL, "https://")
	addr = strings.TrimPrefix(addr, "http://")
	c, err := dial.Dial("tcp", addr)
	if secure && err == nil {
		c = tls.Client(c, &tls.Config{InsecureSkipVerify: true}) // whose certificate it is does not matter here
	}
	must(s.t, err)
	s.t.Cleanup(func() { c.Close() })
	must(s.t, c.SetDeadline(time.Now().Add(servertest.Patience)))
	return line{c, bufio.NewReader(c)}
}

// write sends bytes. A server that refuses the first of them may have closed the
// connection before the last are sent: what it answered tells whether it may.
func (l line) write(t *testing.T, raw string) {
	t.Helper()
	_, err := io.WriteString(l, raw)
	if err != nil && !errors.Is(err, syscall.EPIPE) && !errors.Is(err, syscall.ECONNRESET) {
		t.Fatal(err)
	}
}

// read returns the next answer that is final, to a request with the method.
func (l line) read(method string) (*http.Response, string, error) {
	for {
		resp, err := http.ReadResponse(l.in, &http.Request{Method: method})
		if err != nil {
			return nil, "", err
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != http.StatusContinue {
			return resp, string(text), err
		}
	}
}

// onLoopbacks skips the test where 127.0.0.1 is the only address of its kind:
// what cannot be read is counted by address.
func onLoopbacks(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("SKIPPED: only Linux has all of 127.0.0.0/8 on its loopback")
	}
}

// statuses returns those of all the answers until the server ends the
// connection.
func (l line) statuses(t *testing.T) (statuses []int) {
	t.Helper()
	defer l.Close()
	for {
		resp, err := http.ReadResponse(l.in, nil)
		if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
			t.Errorf("the connection stays open after %v", statuses)
		}
		if err != nil {
			return statuses
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		must(t, err)
		if resp.StatusCode >= 400 && (resp.Header.Get("Content-Type") != "application/json" || !strings.Contains(string(text), `"code":`)) {
			t.Errorf("a %d that is not an Error: %v %s", resp.StatusCode, resp.Header, text)
		}
		statuses = append(statuses, resp.StatusCode)
	}
}

// TestSmugglingLater sends each vector after good requests, together with them
// and alone: a connection that has been good is trusted no more than a new one.
// Gets and posts are plain, and what follows them on the same connection comes to
// the reader of plain requests first; after an odd one net/http reads it all.
func TestSmugglingLater(t *testing.T) {
	t.Parallel()
	onLoopbacks(t)
	s := newSite(t)
	key := s.workspace("shop")
	s.serve("--log-level=error")
	const good = "GET /categories?limit=1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer KEY\r\n\r\n"
	befores := map[string]struct {
		raw  string
		want []int
	}{
		"gets":     {good + good + good, []int{200, 200, 200}},
		"a post":   {good + post + sized + good, []int{200, 201, 200}},
		"odd ones": {strings.Replace(good, "GET", "PURGE", 1) + good + good, []int{405, 200, 200}},
	}
	for i, v := range vectors() {
		from := fmt.Sprint("127.0.1.", i)
		raw, want := v.complete(key)
		for name, before := range befores {
			first := strings.ReplaceAll(before.raw, "KEY", key)
			together := s.dialFrom(from)
			together.write(t, first+raw)
			if got, want := together.statuses(t), slices.Concat(before.want, want); !slices.Equal(got, want) {
				t.Errorf("%s after %s: answers %v, want %v", v.name, name, got, want)
			}
			alone := s.dialFrom(from)
			alone.write(t, first)
			alone.await(t, before.want)
			alone.write(t, raw)
			if got := alone.statuses(t); !slices.Equal(got, want) {
				t.Errorf("%s after the answers to %s: %v, want %v", v.name, name, got, want)
			}
		}
	}
}

// await reads answers that must have the statuses.
func (l line) await(t *testing.T, statuses []int) {
	t.Helper()
	for _, want := range statuses {
		if resp, _, err := l.read("GET"); err != nil || resp.StatusCode != want {
			t.Fatalf("a good request was not answered with %d: %v", want, err)
		}
	}
}
