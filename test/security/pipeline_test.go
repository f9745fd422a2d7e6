package security

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/petstore/test/servertest"
)

// A kind of request is raw bytes with KEY in the place of a key and ID in that
// of a request id.
type kind struct {
	name, method, raw string
	last              bool // the connection ends after it: what has Transfer-Encoding is cut off, since a proxy may have seen another length
}

const who = "Host: x\r\nAuthorization: Bearer KEY\r\nX-Request-Id: ID\r\n"

// kinds are plain requests, as most clients send them, and odd ones, which a
// server that has a short cut for the plain must take on the long way.
func kinds() []kind {
	const json = who + "Content-Type: application/json\r\n"
	length := "Content-Length: 12\r\n\r\n" + body
	return []kind{
		{"get", "GET", "GET /pets/1 HTTP/1.1\r\n" + who + "\r\n", false},
		{"list", "GET", "GET /pets?limit=2&status=available HTTP/1.1\r\n" + who + "Accept: */*\r\nAccept-Encoding: gzip\r\nUser-Agent: t\r\n\r\n", false},
		{"get with another header for the key", "GET", "GET /categories/1 HTTP/1.1\r\nHost: x\r\nX-API-Key: KEY\r\nX-Request-Id: ID\r\n\r\n", false},
		{"no key", "GET", "GET /pets/1 HTTP/1.1\r\nHost: x\r\nX-Request-Id: ID\r\n\r\n", false},
		{"a wrong key", "GET", "GET /pets/1 HTTP/1.1\r\nHost: x\r\nX-Request-Id: ID\r\nAuthorization: Bearer pst_x\r\n\r\n", false},
		{"two keys", "GET", "GET /pets/1 HTTP/1.1\r\n" + who + "X-API-Key: pst_x\r\n\r\n", false},
		{"two authorizations", "GET", "GET /pets/1 HTTP/1.1\r\n" + who + "Authorization: Bearer pst_x\r\n\r\n", false},
		{"nothing there", "GET", "GET /nothing HTTP/1.1\r\n" + who + "\r\n", false},
		{"not there", "GET", "GET /pets/999999 HTTP/1.1\r\n" + who + "\r\n", false},
		{"no id", "GET", "GET /pets/01 HTTP/1.1\r\n" + who + "\r\n", false},
		{"a condition", "GET", "GET /categories/1 HTTP/1.1\r\n" + who + "If-None-Match: *\r\n\r\n", false},
		{"head", "HEAD", "HEAD /pets/1 HTTP/1.1\r\n" + who + "\r\n", false},
		{"options", "OPTIONS", "OPTIONS /pets/1 HTTP/1.1\r\n" + who + "\r\n", false},
		{"options of all", "OPTIONS", "OPTIONS * HTTP/1.1\r\n" + who + "\r\n", false},
		{"another method", "PURGE", "PURGE /pets/1 HTTP/1.1\r\n" + who + "\r\n", false},
		{"post", "POST", "POST /categories HTTP/1.1\r\n" + json + length, false},
		{"post with an encoding", "POST", "POST /categories HTTP/1.1\r\n" + json + "Content-Encoding: gzip\r\n" + length, false},
		{"post of nothing", "POST", "POST /categories HTTP/1.1\r\n" + json + "Content-Length: 0\r\n\r\n", false},
		{"post without a length", "POST", "POST /categories HTTP/1.1\r\n" + json + "\r\n", false},
		{"post in chunks", "POST", "POST /categories HTTP/1.1\r\n" + json + "Transfer-Encoding: chunked\r\n\r\n5;a=b\r\n" + body[:5] + "\r\n7\r\n" + body[5:] + "\r\n0\r\nX-T: t\r\n\r\n", true},
		{"post after 100", "POST", "POST /categories HTTP/1.1\r\n" + json + "Expect: 100-continue\r\n" + length, false},
		{"the same length twice", "POST", "POST /categories HTTP/1.1\r\n" + json + "Content-Length: 12\r\n" + length, false},
		{"a get with a request as its body", "GET", "GET /pets/1 HTTP/1.1\r\n" + who + fmt.Sprintf("Content-Length: %d\r\n\r\n", len(smuggled)) + smuggled, false},
		{"a get with a request in chunks", "GET", "GET /pets/1 HTTP/1.1\r\n" + who + fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n", len(smuggled)) + smuggled + "\r\n0\r\n\r\n", true},
		{"names in other cases", "GET", "GET /pets/1 HTTP/1.1\r\nhOST: x\r\naUTHORIZATION: Bearer KEY\r\nx-rEQUEST-id: ID\r\n\r\n", false},
		{"blanks around values", "GET", "GET /pets/1 HTTP/1.1\r\nHost: \t x \t\r\nAuthorization:Bearer KEY  \r\nX-Request-Id:\tID\r\n\r\n", false},
		{"lines that end in LF", "GET", "GET /pets/1 HTTP/1.1\nHost: x\nAuthorization: Bearer KEY\nX-Request-Id: ID\n\n", false},
		{"a folded line", "GET", "GET /pets/1 HTTP/1.1\r\n" + who + "X-Fold: a\r\n b\r\n\r\n", false},
		{"an absolute target", "GET", "GET http://y/pets/1 HTTP/1.1\r\n" + who + "\r\n", false},
		{"an escaped path", "GET", "GET /%70ets/1 HTTP/1.1\r\n" + who + "\r\n", false},
		{"a path with dots", "GET", "GET /x/../pets/1 HTTP/1.1\r\n" + who + "\r\n", false},
		{"a fragment", "GET", "GET /pets/1#x HTTP/1.1\r\n" + who + "\r\n", false},
		{"an empty query", "GET", "GET /pets/1? HTTP/1.1\r\n" + who + "\r\n", false},
		{"an unknown query", "GET", "GET /pets/1?x=%00 HTTP/1.1\r\n" + who + "\r\n", false},
		{"a long header", "GET", "GET /pets/1 HTTP/1.1\r\n" + who + "X-Long: " + strings.Repeat("x", 9000) + "\r\n\r\n", false},
		{"too long a header", "GET", "GET /pets/1 HTTP/1.1\r\n" + who + "X-Long: " + strings.Repeat("x", 20000) + "\r\n\r\n", false},
		{"many headers", "GET", "GET /pets/1 HTTP/1.1\r\n" + who + strings.Repeat("X-Many: x\r\n", 100) + "\r\n", false},
		{"an upgrade", "GET", "GET /pets/1 HTTP/1.1\r\n" + who + "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n", false},
		{"keep-alive", "GET", "GET /pets/1 HTTP/1.1\r\n" + who + "Connection: keep-alive\r\n\r\n", false},
		{"close", "GET", "GET /pets/1 HTTP/1.1\r\n" + who + "Connection: close\r\n\r\n", true},
		{"HTTP/1.0", "GET", "GET /pets/1 HTTP/1.0\r\n" + who + "\r\n", true},
		{"HTTP/1.0 that would go on", "GET", "GET /pets/1 HTTP/1.0\r\n" + who + "Connection: keep-alive\r\n\r\n", true},
		{"both lengths", "POST", "POST /categories HTTP/1.1\r\n" + json + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked, true},
	}
}

// request returns the bytes, and the id.
func (k kind) request(key string, number int) (raw, id string) {
	id = fmt.Sprintf("request-%d", number)
	return strings.NewReplacer("KEY", key, "ID", id).Replace(k.raw), id
}

// A line is a connection on which requests are written and answers read.
type line struct {
	net.Conn
	in *bufio.Reader
}

func dial(t *testing.T, addr string) line {
	t.Helper()
	return dialFrom(t, "127.0.0.1", addr)
}

// dialFrom comes from another address of the loopback: what cannot be read has
// no key, and is counted by address.
func dialFrom(t *testing.T, from, addr string) line {
	t.Helper()
	c, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}).Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(servertest.Patience)); err != nil {
		t.Fatal(err)
	}
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

// wantEnd fails the test unless the server has closed the connection.
func (l line) wantEnd(t *testing.T, what string) {
	t.Helper()
	if _, err := l.in.ReadByte(); err == nil || errors.Is(err, net.ErrClosed) {
		t.Errorf("%s: more came than was asked for", what)
	} else if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		t.Errorf("%s: the connection stays open", what)
	}
}

// verdict is what must not depend on what else a connection carries.
func verdict(resp *http.Response, text string) string {
	if resp.StatusCode < 400 || text == "" {
		return fmt.Sprint(resp.StatusCode)
	}
	code := answer{status: resp.StatusCode, body: text}.code()
	return fmt.Sprint(resp.StatusCode, " ", code)
}

// pipelined starts a server, and returns its address, a key, and the verdict on
// each kind when it comes alone on a connection.
func pipelined(t *testing.T) (s *site, key string, alone map[string]string) {
	t.Helper()
	s = newSite(t)
	key = s.workspace("shop")
	s.serve("--log-level=error")
	s.stock(key, "Pet", 3)
	alone = map[string]string{}
	for i, k := range kinds() {
		raw, id := k.request(key, i)
		l := dial(t, s.addr())
		l.write(t, raw)
		resp, text, err := l.read(k.method)
		if err != nil {
			t.Fatalf("%s: %v", k.name, err)
		}
		if got := resp.Header.Get("X-Request-Id"); got != id && resp.StatusCode != 431 {
			t.Errorf("%s: X-Request-Id = %s, want %s", k.name, got, id)
		}
		alone[k.name] = verdict(resp, text)
		if k.last {
			l.wantEnd(t, k.name)
		}
	}
	for name, want := range map[string]string{
		"get": "200", "no key": "401 missing_api_key", "nothing there": "404 route_not_found", "post": "201", "post in chunks": "201",
		"post after 100": "201", "a get with a request as its body": "200", "names in other cases": "200", "blanks around values": "200",
		"a path with dots": "404 route_not_found", "both lengths": "201", "too long a header": "431 headers_too_large",
	} {
		if alone[name] != want {
			t.Errorf("%s = %s, want %s", name, alone[name], want)
		}
	}
	return s, key, alone
}

// steady are the kinds after which a connection goes on, and which may be asked
// for without end: those without a key are counted by address.
func steady(alone map[string]string) []kind {
	return slices.DeleteFunc(kinds(), func(k kind) bool {
		return k.last || strings.HasPrefix(alone[k.name], "431") || strings.HasPrefix(alone[k.name], "401")
	})
}

// answers reads the answers to requests, which must be those that they get
// alone, in the order of asking.
func answers(t *testing.T, l line, asked []kind, first int, alone map[string]string) {
	t.Helper()
	for i, k := range asked {
		resp, text, err := l.read(k.method)
		if err != nil {
			t.Fatalf("%d of %d, %s: %v", i+1, len(asked), k.name, err)
		}
		if got := verdict(resp, text); got != alone[k.name] {
			t.Fatalf("%d of %d, %s = %s, want %s as alone", i+1, len(asked), k.name, got, alone[k.name])
		}
		if got, want := resp.Header.Get("X-Request-Id"), fmt.Sprintf("request-%d", first+i); got != want {
			t.Fatalf("%d of %d, %s: X-Request-Id = %s, want %s", i+1, len(asked), k.name, got, want)
		}
	}
}

// TestPipelines sends plain and odd requests in any order on one connection, in
// one piece, byte by byte, and in pieces of any size.
func TestPipelines(t *testing.T) {
	t.Parallel()
	s, key, alone := pipelined(t)
	goOn, all := steady(alone), kinds()
	strangers := []kind{all[0], all[3], all[0], all[4], all[0], all[5], all[0], all[6], all[0]} // no key, and wrong ones, between good
	ends := slices.DeleteFunc(kinds(), func(k kind) bool { return !k.last })
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(1, seed))
		var asked []kind
		for range 12 {
			asked = append(asked, goOn[r.IntN(len(goOn))])
		}
		if seed < 5 {
			asked = append(asked, strangers...)
		}
		asked = append(asked, ends[r.IntN(len(ends))]) // the last ends the connection
		var raw strings.Builder
		for i, k := range asked {
			one, _ := k.request(key, 1000+i)
			raw.WriteString(one)
		}
		l := dial(t, s.addr())
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			rest := raw.String()
			for most := []int{1 << 20, 1, 40, 600}[seed%4]; rest != ""; {
				n := min(len(rest), 1+r.IntN(most))
				if seed%4 == 0 {
					n = len(rest)
				}
				if _, err := io.WriteString(l, rest[:n]); err != nil {
					return // the reader finds out
				}
				rest = rest[n:]
			}
		}()
		answers(t, l, asked, 1000, alone)
		l.wantEnd(t, "the last of a pipeline")
		<-sent
	}
}

// TestSplits cuts every kind of request at every byte. The first part comes
// together with a request before it, whose answer shows that it was read; then
// comes the rest, with a request after it.
func TestSplits(t *testing.T) {
	t.Parallel()
	s, key, alone := pipelined(t)
	plain := kinds()[0]
	before, _ := plain.request(key, 0)
	after, _ := plain.request(key, 2)
	for _, k := range steady(alone) {
		if len(k.raw) > 5000 {
			continue
		}
		raw, _ := k.request(key, 1)
		l := dial(t, s.addr())
		for at := 1; at < len(raw); at++ {
			l.write(t, before+raw[:at])
			answers(t, l, []kind{plain}, 0, alone)
			l.write(t, raw[at:]+after)
			answers(t, l, []kind{k, plain}, 1, alone)
			if t.Failed() {
				t.Fatalf("%s, cut at %d of %d", k.name, at, len(raw))
			}
		}
	}
}
