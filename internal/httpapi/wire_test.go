package httpapi_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A wire is a connection on which bytes are sent as they are.
type wire struct {
	t *testing.T
	net.Conn
	in *bufio.Reader
}

// dial opens a connection to the shop.
func (s *shop) dial(t *testing.T) *wire {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	return newWire(t, c)
}

func newWire(t *testing.T, c net.Conn) *wire {
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(time.Hour)) // in a bubble; elsewhere the run's own time-out comes first
	return &wire{t, c, bufio.NewReader(c)}
}

func (w *wire) send(text string) {
	w.t.Helper()
	if _, err := io.WriteString(w, text); err != nil {
		w.t.Fatalf("sending %.80q: %v", text, err)
	}
}

// A wireReply is an answer as it is on the wire.
type wireReply struct {
	first  string // line
	status int
	lines  []string // of the header, as they were spelled
	body   string
}

// line returns the value of a header.
func (r wireReply) line(name string) string {
	for _, line := range r.lines {
		if value, ok := strings.CutPrefix(line, name+": "); ok {
			return value
		}
	}
	return ""
}

// next reads the answer to a request with the method.
func (w *wire) next(method string) wireReply {
	w.t.Helper()
	r, err := w.read(method)
	if err != nil {
		w.t.Fatalf("no answer to %s: %v", method, err)
	}
	return r
}

func (w *wire) read(method string) (r wireReply, err error) {
	if r.first, err = w.in.ReadString('\n'); err != nil {
		return r, fmt.Errorf("%q: %w", r.first, err)
	}
	if _, err := fmt.Sscanf(r.first[min(len(r.first), len("HTTP/1.x")):], " %d ", &r.status); err != nil {
		return r, fmt.Errorf("%q is no status line", r.first)
	}
	for {
		line, err := w.in.ReadString('\n')
		if err != nil {
			return r, err
		}
		if line == "\r\n" {
			break
		}
		r.lines = append(r.lines, strings.TrimSuffix(line, "\r\n"))
	}
	if method == http.MethodHead || r.status < 200 || r.status == http.StatusNoContent || r.status == http.StatusNotModified {
		return r, nil
	}
	length, err := strconv.Atoi(r.line("Content-Length"))
	if err != nil {
		return r, fmt.Errorf("no length in %q", r.lines)
	}
	body := make([]byte, length)
	_, err = io.ReadFull(w.in, body)
	r.body = string(body)
	return r, err
}

// want reads an answer and fails the test unless it has the status.
func (w *wire) want(method string, status int) wireReply {
	w.t.Helper()
	r := w.next(method)
	if r.status != status {
		w.t.Fatalf("%s = %d %s, want %d", method, r.status, r.body, status)
	}
	return r
}

// last reports whether the server says that it closes the connection.
func (r wireReply) last() bool {
	return r.line("Connection") == "close" || strings.HasPrefix(r.first, "HTTP/1.0 ")
}

// ended fails the test unless the server closes the connection without another
// answer.
func (w *wire) ended() {
	w.t.Helper()
	if rest, err := io.ReadAll(w.in); len(rest) > 0 || err != nil && !isReset(err) {
		w.t.Fatalf("after the last answer came %q, %v, want the end", rest, err)
	}
}

func isReset(err error) bool { return strings.Contains(err.Error(), "reset by peer") }

// text returns a request as it is sent.
func (r request) text(key string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: shop.example\r\n", r.method, r.path)
	if r.key == "" {
		r.key = key
	}
	if r.key != "-" {
		fmt.Fprintf(&b, "Authorization: Bearer %s\r\n", r.key)
	}
	if _, typed := r.header["Content-Type"]; r.body != "" && !typed {
		b.WriteString("Content-Type: application/json\r\n")
	}
	if r.body != "" {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(r.body))
	}
	names := make([]string, 0, len(r.header))
	for name := range r.header {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(&b, "%s: %s\r\n", name, r.header[name])
	}
	return b.String() + "\r\n" + r.body
}
