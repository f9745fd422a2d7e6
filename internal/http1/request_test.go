package http1

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/net/http/httpguts"
)

// plainSeeds are requests that read takes.
func plainSeeds() []string {
	many := strings.Repeat("X: y\r\n", maxFields-1)
	return []string{
		"GET /pets HTTP/1.1\r\nHost: a\r\n\r\n",
		"HEAD /pets?limit=1&name=a%20b HTTP/1.1\r\nhost: [::1]:80\r\naccept:  */*  \r\n\r\n",
		"GET /pets?? HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET /pets/~1/.. HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET /pets//1?a=b?c;d HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET /store/orders HTTP/1.1\r\nHost: a\r\nConnection: Keep-Alive\r\nKeep-Alive: timeout=5\r\n\r\n",
		"DELETE /store/orders/1 HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nIf-Match: \"x\"\r\n\r\n",
		"POST /pets HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nContent-Type: application/json\r\n\r\n{}GET /pets HTTP/1.1\r\nHost: a\r\n\r\n",
		"POST /pets HTTP/1.1\r\nHost: a\r\nContent-Length: 00002\r\n\r\n{}",
		"PUT /pets/1 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n\r\n\r",
		"PATCH /inventory/1 HTTP/1.1\r\nHost: a\r\nX-API-Key: k\r\nx-api-key: l\r\nX-Api-KEY:\r\n\r\n",
		"GET /categories HTTP/1.1\r\nHost: a\r\nCookie: a=b\r\nCookie: c=d\r\nCache-Control: no-cache\r\n\r\n",
		"GET /account HTTP/1.1\r\nHost: a\r\nweird!#$%&'*+-.^_`|~Name: ~ : ~\r\n\r\n",
		"GET /pets HTTP/1.1\r\nHost: a\r\n" + many + "\r\n",
		"GET /petsandmore HTTP/1.1\r\nHost: a\r\n\r\n",
	}
}

// oddSeeds are requests that read leaves to net/http: it refuses some, and
// reads others in ways of its own. The vectors of test/security have more.
func oddSeeds() []string {
	many := strings.Repeat("X: y\r\n", maxFields+1)
	const post = "POST /pets HTTP/1.1\r\nHost: a\r\n"
	const get = "GET /pets HTTP/1.1\r\nHost: a\r\n"
	seeds := []string{
		"",
		"\r\n\r\n",
		"GET /pets HTTP/1.1\r\n\r\n",
		"GET /pets HTTP/1.1\r\nHost:\r\n\r\n",
		"\r\nGET /pets HTTP/1.1\r\nHost: a\r\n\r\n",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"GET /pets HTTP/1.1\nHost: a\n\n",
		"GET /pets HTTP/1.1\r\nHost: a\n\r\n\r\n",
		"GET /pets HTTP/1.1\r\nHost: a\rX: y\r\n\r\n",
		"GET /pets HTTP/1.1\r\nHost:\r\nHost: a\r\n\r\n",
		get + many + "\r\n",
		get + "Content-Length: 1\r\n\r\nx",
		post + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
		post + "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r\n",
		post + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
		post + "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
		post + "Content-Length: 2\r\ncontent-length: 3\r\n\r\n{}}",
		post + "Content-Length\x0b: 2\r\n\r\n{}",
		post + "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n{}",
	}
	for _, line := range []string{
		"GET /pets HTTP/1.0", "GET /pets HTTP/1.10", "GET /pets http/1.1", "get /pets HTTP/1.1", "BREW /pets HTTP/1.1",
		"OPTIONS * HTTP/1.1", "CONNECT a:80 HTTP/1.1", "GET http://b/pets HTTP/1.1", "GET //b/pets HTTP/1.1", "GET pets HTTP/1.1",
		"GET /docs HTTP/1.1", "GET /console/pets HTTP/1.1", "GET /pets? HTTP/1.1", "GET /pets#x HTTP/1.1", "GET /pets?a#x HTTP/1.1",
		"GET /pets/%31 HTTP/1.1", "GET /pets/ü HTTP/1.1", "GET /pets?\"<> HTTP/1.1",
	} {
		seeds = append(seeds, line+"\r\nHost: a\r\n\r\n")
	}
	for _, fields := range []string{
		"Host: b", "host: a", " folded: y", "X: y\r\n folded", "X: y\r\n\tfolded", "X:\ty", "X: a\tb", "X: ü",
		"X: a\nContent-Length: 5", "Connection: close", "Connection: keep-alive, close",
		"Connection: Upgrade\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__", "Upgrade: websocket", "Proxy-Connection: close",
		"Pragma: no-cache", "TE: trailers", "Trailer: X",
	} {
		seeds = append(seeds, get+fields+"\r\n\r\n")
	}
	return seeds
}

// anyPet is the Plain of the tests.
func anyPet(path string) bool {
	for _, root := range []string{"/pets", "/store/", "/inventory", "/categories", "/account"} {
		if strings.HasPrefix(path, root) {
			return true
		}
	}
	return false
}

func TestPlainAndOdd(t *testing.T) {
	t.Parallel()
	for want, all := range map[bool][]string{true: plainSeeds(), false: oddSeeds()} {
		for _, text := range all {
			var r request
			if _, verdict := r.read([]byte(text), anyPet); (verdict == wholePlain) != want {
				t.Errorf("read(%.100q) = %d, want that it is plain to be %t", text, verdict, want)
			}
		}
	}
}

// TestPlainBodyToCome checks that the size of a request is known before its
// body is there, for every part of it.
func TestPlainBodyToCome(t *testing.T) {
	t.Parallel()
	text := "POST /pets HTTP/1.1\r\nHost: a\r\nContent-Length: 12\r\n\r\n"
	for n := range 12 {
		if size, verdict := new(request).read([]byte(text+strings.Repeat("x", n)), anyPet); verdict != headPlain || size != len(text)+12 {
			t.Errorf("with %d bytes of 12 read() = %d, %d, want %d, %d", n, size, verdict, len(text)+12, headPlain)
		}
	}
	for n := range len(text) {
		if size, verdict := new(request).read([]byte(text[:n]), anyPet); verdict != headBegun || size != 0 {
			t.Errorf("with %d bytes of the head read() = %d, %d, want 0, %d", n, size, verdict, headBegun)
		}
	}
}

// TestOddBeginnings are of heads that cannot become plain, so that net/http need
// not be waited for.
func TestOddBeginnings(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"O", "OPTIONS", "PRI", "get", " ", "\r", "\n", "\x16\x03\x01", "GETS ", "GET\n", "GET /pets HTTP/1.1\n", "GET /pets HTTP/1.0\r\n",
		"GET /docs HTTP/1.1\r\n", "GET /pets HTTP/1.1\r\nHost: a\n", "GET /pets HTTP/1.1\nHost: a\n\n", "GET /pets HTTP/1.1\r\n\n",
	} {
		if size, verdict := new(request).read([]byte(text), anyPet); verdict != notPlain || size != 0 {
			t.Errorf("read(%q) = %d, %d, want 0, %d", text, size, verdict, notPlain)
		}
	}
}

// FuzzPlainRequestIsNetHTTPs checks that what read reads is what net/http
// would read, and in as many bytes.
func FuzzPlainRequestIsNetHTTPs(f *testing.F) {
	for _, text := range append(plainSeeds(), oddSeeds()...) {
		f.Add([]byte(text))
	}
	f.Add([]byte(strings.Join(plainSeeds(), "")))
	f.Add([]byte(strings.Repeat(plainSeeds()[7], 3)))
	f.Add([]byte(plainSeeds()[6] + "\r\n" + plainSeeds()[7] + plainSeeds()[0] + plainSeeds()[10]))
	f.Fuzz(func(t *testing.T, b []byte) {
		var r request
		size, verdict := r.read(b, anyPet)
		if verdict == headPlain {
			b = append(bytes.Clone(b), make([]byte, size-len(b))...)
			size, verdict = r.read(b, anyPet)
		}
		if verdict == notPlain || verdict == headBegun {
			if size != 0 {
				t.Fatalf("read() = %d without a plain head, want 0", size)
			}
			return
		}
		got := r.newRequest(&http.Request{Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Body: http.NoBody}, b[size-r.length:size])
		want, consumed := readByNetHTTP(t, b)
		if size != consumed {
			t.Errorf("read() = %d, net/http consumes %d", size, consumed)
		}
		equalRequests(t, got, want)
	})
}

// readByNetHTTP returns the request as net/http's server sees it, and how many
// bytes it has with its body.
func readByNetHTTP(t *testing.T, b []byte) (r *http.Request, consumed int) {
	t.Helper()
	source := bytes.NewReader(b)
	buffered := bufio.NewReader(source)
	r, err := http.ReadRequest(buffered)
	if err != nil {
		t.Fatalf("net/http refuses %q: %v", b, err)
	}
	if !httpguts.ValidHostHeader(r.Host) || r.Host == "" {
		t.Errorf("net/http's server refuses the host %q", r.Host)
	}
	for name, values := range r.Header {
		if !httpguts.ValidHeaderFieldName(name) {
			t.Errorf("net/http's server refuses the name %q", name)
		}
		for _, value := range values {
			if !httpguts.ValidHeaderFieldValue(value) {
				t.Errorf("net/http's server refuses the value %q", value)
			}
		}
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatalf("net/http cannot read the body of %q: %v", b, err)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return r, len(b) - source.Len() - buffered.Buffered()
}

// equalRequests compares what a handler may look at. The address, TLS and the
// context come from the connection.
func equalRequests(t *testing.T, got, want *http.Request) {
	t.Helper()
	gotBody, err := io.ReadAll(got.Body)
	must(t, err)
	wantBody, _ := io.ReadAll(want.Body) // it is in memory
	if !bytes.Equal(gotBody, wantBody) {
		t.Errorf("the body is %q, net/http's %q", gotBody, wantBody)
	}
	if (got.Body == http.NoBody) != (want.ContentLength == 0) {
		t.Errorf("the body is NoBody: %t, with net/http's Content-Length %d", got.Body == http.NoBody, want.ContentLength)
	}
	members := func(r *http.Request) string {
		return fmt.Sprintf("%q %q %q %d %d %q %d %q %t %v %q %v %v", r.Method, r.RequestURI, r.Proto, r.ProtoMajor, r.ProtoMinor,
			r.Host, r.ContentLength, r.TransferEncoding, r.Close, r.Trailer, r.Pattern, r.Form, r.MultipartForm)
	}
	if got, want := members(got), members(want); got != want {
		t.Errorf("the request is %s, net/http's %s", got, want)
	}
	if !reflect.DeepEqual(got.URL, want.URL) {
		t.Errorf("the URL is %#v, net/http's %#v", got.URL, want.URL)
	}
	if !reflect.DeepEqual(got.Header, want.Header) {
		t.Errorf("the header is %q, net/http's %q", got.Header, want.Header)
	}
}
