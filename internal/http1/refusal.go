package http1

import (
	"bytes"
	"net/http"
	"strconv"
)

// The values of conn.written: what net/http has written since it began to wait for a request.
const (
	nothing int32 = iota
	begun         // a part of an answer
	framed        // frames of HTTP/2; the connection never returns to HTTP/1.1
)

// refusalHeader follows the status line in net/http's own refusals. No answer of a
// handler has just these fields.
const refusalHeader = "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"

// answered is called when net/http begins to wait for another request.
func (c *conn) answered() { c.written.CompareAndSwap(begun, nothing) }

// Write sends what net/http writes. It replaces net/http's own refusals of requests,
// which never reach a handler, with the answer of Options.Malformed. A refusal is
// written by one call at the beginning of an answer, so later writes are not searched
// for it.
func (c *conn) Write(p []byte) (int, error) {
	if c.written.Load() != nothing {
		return c.Conn.Write(p)
	}
	if !bytes.HasPrefix(p, []byte("HTTP/1.")) {
		c.written.Store(framed)
		return c.Conn.Write(p)
	}
	c.written.Store(begun)
	status := refused(p[:min(len(p), 512)])
	if status == 0 || c.front.options.Malformed == nil {
		return c.Conn.Write(p)
	}
	if _, err := c.Conn.Write(c.malformed(status)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// refused returns the status of a refusal, 0 if b does not begin with one.
func refused(b []byte) int {
	line, rest, found := bytes.Cut(b, []byte("\r\n"))
	if !found || !bytes.HasPrefix(line, []byte("HTTP/1.1 ")) {
		return 0
	}
	expectation := bytes.HasPrefix(line, []byte("HTTP/1.1 417 ")) && bytes.HasPrefix(rest, []byte("Connection: close\r\n"))
	if !expectation && !bytes.HasPrefix(b[len(line):], []byte(refusalHeader)) {
		return 0
	}
	status, _ := strconv.Atoi(string(line[9:min(len(line), 12)])) // 0 if it is not a number
	return status
}

// malformed returns the answer to a request that net/http refuses.
func (c *conn) malformed(status int) []byte {
	w := &response{last: true, draining: &c.front.draining}
	c.front.options.Malformed(w, (&request{header: http.Header{}}).newRequest(c.shared, nil), status)
	return w.finish()
}
