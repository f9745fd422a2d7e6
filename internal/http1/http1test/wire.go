// Package http1test has connections on which tests write bytes as they are, and
// read answers as they come.
package http1test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A Wire is a connection on which bytes are sent as they are.
type Wire struct {
	t *testing.T
	net.Conn
	in *bufio.Reader
}

// Dial opens a connection to an address.
func Dial(t *testing.T, addr string) *Wire {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	return New(t, c)
}

// New returns the wire of a connection.
func New(t *testing.T, c net.Conn) *Wire {
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(time.Hour)) // in a bubble; elsewhere the run's own time-out comes first
	return &Wire{t, c, bufio.NewReader(c)}
}

// Send sends bytes.
func (w *Wire) Send(text string) {
	w.t.Helper()
	if _, err := io.WriteString(w, text); err != nil {
		w.t.Fatalf("sending %.80q: %v", text, err)
	}
}

// A Reply is an answer as it is on the wire.
type Reply struct {
	First  string // line
	Status int
	Lines  []string // of the header, as they were spelled
	Body   string
}

// Line returns the value of a header.
func (r Reply) Line(name string) string {
	for _, line := range r.Lines {
		if value, ok := strings.CutPrefix(line, name+": "); ok {
			return value
		}
	}
	return ""
}

// Next is ReadReply, which must succeed.
func (w *Wire) Next(method string) Reply {
	w.t.Helper()
	r, err := w.ReadReply(method)
	if err != nil {
		w.t.Fatalf("no answer to %s: %v", method, err)
	}
	return r
}

// Status reads the first line of an answer and returns its status, 0 if there is
// none.
func (w *Wire) Status() (status int) {
	first, _ := w.in.ReadString('\n')
	_, _ = fmt.Sscanf(first, "HTTP/1.1 %d ", &status)
	return status
}

// ReadReply reads the answer to a request with the method.
func (w *Wire) ReadReply(method string) (r Reply, err error) {
	if r.First, err = w.in.ReadString('\n'); err != nil {
		return r, fmt.Errorf("%q: %w", r.First, err)
	}
	if _, err := fmt.Sscanf(r.First[min(len(r.First), len("HTTP/1.x")):], " %d ", &r.Status); err != nil {
		return r, fmt.Errorf("%q is no status line", r.First)
	}
	for {
		line, err := w.in.ReadString('\n')
		if err != nil {
			return r, err
		}
		if line == "\r\n" {
			break
		}
		r.Lines = append(r.Lines, strings.TrimSuffix(line, "\r\n"))
	}
	if method == http.MethodHead || r.Status < 200 || r.Status == http.StatusNoContent || r.Status == http.StatusNotModified {
		return r, nil
	}
	length, err := strconv.Atoi(r.Line("Content-Length"))
	if err != nil {
		return r, fmt.Errorf("no length in %q", r.Lines)
	}
	body := make([]byte, length)
	_, err = io.ReadFull(w.in, body)
	r.Body = string(body)
	return r, err
}

// Want reads an answer and fails the test unless it has the status.
func (w *Wire) Want(method string, status int) Reply {
	w.t.Helper()
	r := w.Next(method)
	if r.Status != status {
		w.t.Fatalf("%s = %d %s, want %d", method, r.Status, r.Body, status)
	}
	return r
}

// Last reports whether the server says that it closes the connection.
func (r Reply) Last() bool {
	return r.Line("Connection") == "close" || strings.HasPrefix(r.First, "HTTP/1.0 ")
}

// Ended fails the test unless the server closes the connection without another
// answer.
func (w *Wire) Ended() {
	w.t.Helper()
	if rest, err := io.ReadAll(w.in); len(rest) > 0 || err != nil && !isReset(err) {
		w.t.Fatalf("after the last answer came %q, %v, want the end", rest, err)
	}
}

func isReset(err error) bool { return strings.Contains(err.Error(), "reset by peer") }
