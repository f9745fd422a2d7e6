package security

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A vector is bytes that two parsers might split into requests in two ways. The
// second request in it, for /smuggled, must never be taken for one of its own
// unless the RFC says that it is.
type vector struct {
	name   string
	raw    string // KEY stands for a key
	want   []int  // the statuses, in order
	closes bool   // the connection ends after them
}

const smuggled = "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"

// post begins a request whose header goes on.
const post = "POST /categories HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer KEY\r\nContent-Type: application/json\r\n"

const body = `{"name":"x"}` // 12 bytes

const chunked = "c\r\n" + body + "\r\n0\r\n\r\n"

func vectors() []vector {
	bad := []int{400}
	return []vector{
		// RFC 9112 §6.3: who sends both is answered by Transfer-Encoding, and cut off (§6.1).
		{"both lengths", post + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked + smuggled, []int{201}, true},
		{"both lengths, other order", post + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n" + chunked + smuggled, []int{201}, true},
		{"chunked alone", post + "Transfer-Encoding: chunked\r\n\r\n" + chunked, []int{201}, true},
		// §6.3: several lengths that differ, or one that is no number, cannot be recovered from.
		{"two lengths", post + "Content-Length: 12\r\nContent-Length: 60\r\n\r\n" + body + smuggled, bad, true},
		{"a list of lengths", post + "Content-Length: 12, 60\r\n\r\n" + body + smuggled, bad, true},
		{"a signed length", post + "Content-Length: +12\r\n\r\n" + body + smuggled, bad, true},
		{"a negative length", post + "Content-Length: -1\r\n\r\n" + body + smuggled, bad, true},
		{"a hexadecimal length", post + "Content-Length: 0xc\r\n\r\n" + body + smuggled, bad, true},
		{"a length with a space", post + "Content-Length: 1 2\r\n\r\n" + body + smuggled, bad, true},
		{"an empty length", post + "Content-Length: \r\n\r\n" + body + smuggled, bad, true},
		{"a huge length", post + "Content-Length: 99999999999999999999\r\n\r\n" + body + smuggled, bad, true},
		// §6.1: a coding that is not understood.
		{"an unknown coding", post + "Transfer-Encoding: xchunked\r\n\r\n" + chunked + smuggled, bad, true},
		{"chunked twice", post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked + smuggled, bad, true},
		{"chunked, then identity", post + "Transfer-Encoding: chunked, identity\r\n\r\n" + chunked + smuggled, bad, true},
		{"identity", post + "Transfer-Encoding: identity\r\nContent-Length: 12\r\n\r\n" + body + smuggled, bad, true},
		{"a vertical tab", post + "Transfer-Encoding: \vchunked\r\n\r\n" + chunked + smuggled, bad, true},
		{"quoted", post + "Transfer-Encoding: \"chunked\"\r\n\r\n" + chunked + smuggled, bad, true},
		// §5.1, §5.2: white space before the colon, and folded lines.
		{"a space before the colon", post + "Transfer-Encoding : chunked\r\nContent-Length: 12\r\n\r\n" + body + smuggled, bad, true},
		{"a space before a name", post + " Transfer-Encoding: chunked\r\nContent-Length: 12\r\n\r\n" + body, []int{415}, false}, // joined to the line before, as §5.2 allows
		{"a NUL in a value", post + "X: a\x00b\r\nContent-Length: 12\r\n\r\n" + body + smuggled, bad, true},
		{"a NUL in a name", post + "X\x00: b\r\nContent-Length: 12\r\n\r\n" + body + smuggled, bad, true},
		{"a line without a colon", post + "nothing\r\nContent-Length: 12\r\n\r\n" + body + smuggled, bad, true},
		{"a bare CR", post + "X: a\rTransfer-Encoding: chunked\r\nContent-Length: 12\r\n\r\n" + body + smuggled, bad, true},
		{"an empty name", post + ": x\r\nContent-Length: 12\r\n\r\n" + body + smuggled, bad, true},
		// §7.1: chunks that are none.
		{"a chunk size that is none", post + "Transfer-Encoding: chunked\r\n\r\nzz\r\n" + body + "\r\n0\r\n\r\n" + smuggled, bad, true},
		{"a chunk size too large", post + "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n" + body + "\r\n0\r\n\r\n" + smuggled, bad, true},
		{"a negative chunk size", post + "Transfer-Encoding: chunked\r\n\r\n-c\r\n" + body + "\r\n0\r\n\r\n" + smuggled, bad, true},
		{"a chunk longer than its size", post + "Transfer-Encoding: chunked\r\n\r\n3\r\n" + body + "\r\n0\r\n\r\n" + smuggled, bad, true},
		// §3.2: the host.
		{"no host", "GET /pets HTTP/1.1\r\n\r\n" + smuggled, bad, true},
		{"two hosts", "GET /pets HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n" + smuggled, bad, true},
		{"a host that is none", "GET /pets HTTP/1.1\r\nHost: a b\r\n\r\n" + smuggled, bad, true},
		// §3: the request line.
		{"two spaces", "GET  /pets HTTP/1.1\r\nHost: x\r\n\r\n" + smuggled, bad, true},
		{"a space in the path", "GET /pets /x HTTP/1.1\r\nHost: x\r\n\r\n" + smuggled, bad, true},
		{"no version", "GET /pets\r\nHost: x\r\n\r\n" + smuggled, bad, true},
		{"an unknown version", "GET /pets HTTP/3.7\r\nHost: x\r\n\r\n" + smuggled, bad, true},
		{"a lower-case version", "GET /pets http/1.1\r\nHost: x\r\n\r\n" + smuggled, bad, true},
		{"a method that is no token", "G{T /pets HTTP/1.1\r\nHost: x\r\n\r\n" + smuggled, bad, true},
		{"a path without a slash", "GET pets HTTP/1.1\r\nHost: x\r\n\r\n" + smuggled, bad, true},
		{"a control character in the path", "GET /pe\x01ts HTTP/1.1\r\nHost: x\r\n\r\n" + smuggled, bad, true},
		// Two requests that are two (§9.3.2), and a body that a GET may have (RFC 9110 §9.3.1).
		{"pipelined", "GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n" + smuggled, []int{404, 404}, false},
		{"a GET with a body", "GET /nothing HTTP/1.1\r\nHost: x\r\nContent-Length: " + strconv.Itoa(len(smuggled)) + "\r\n\r\n" + smuggled, []int{404}, false},
		{"an upgrade to HTTP/2", "GET /nothing HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n", []int{404}, false},
	}
}

func TestSmuggling(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	key := s.workspace("shop")
	s.serve()
	for _, v := range vectors() {
		t.Run(v.name, func(t *testing.T) {
			got, closed := exchange(t, dial(t, s.addr()), strings.ReplaceAll(v.raw, "KEY", key), len(v.want))
			if len(got) != len(v.want) || closed != v.closes {
				t.Fatalf("answers %v, closed %v; want %v, closed %v", got, closed, v.want, v.closes)
			}
			for i, want := range v.want {
				if got[i] != want {
					t.Errorf("answers %v, want %v", got, v.want)
				}
			}
		})
	}
	if log := s.LogText(); strings.Contains(log, "/smuggled") && strings.Count(log, "/smuggled") != 1 {
		t.Errorf("/smuggled was asked for %d times, want once, by the client that pipelined", strings.Count(log, "/smuggled"))
	}
}

// exchange writes raw to a connection and returns the statuses of the
// answers, and whether the server then closed. It reads one more answer than
// wanted, if it comes.
func exchange(t *testing.T, l line, raw string, wanted int) (statuses []int, closed bool) {
	t.Helper()
	l.write(t, raw)
	return l.statuses(t, wanted)
}

func (l line) statuses(t *testing.T, wanted int) (statuses []int, closed bool) {
	t.Helper()
	defer l.Close()
	for {
		if len(statuses) == wanted { // what more comes, comes soon
			if err := l.SetReadDeadline(time.Now().Add(200 * time.Millisecond)); err != nil {
				t.Fatal(err)
			}
		}
		resp, err := http.ReadResponse(l.in, nil)
		if err != nil {
			timeout, ok := errors.AsType[net.Error](err)
			return statuses, !ok || !timeout.Timeout()
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode >= 400 && (resp.Header.Get("Content-Type") != "application/json" || !strings.Contains(string(text), `"code":`)) {
			t.Errorf("a %d that is not an Error: %v %s", resp.StatusCode, resp.Header, text)
		}
		statuses = append(statuses, resp.StatusCode)
	}
}
