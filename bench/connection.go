package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"
)

// A connection is one keep-alive connection. It parses no more of an answer than
// where it ends.
type connection struct {
	conn net.Conn
	in   []byte // what was read of the answer
	out  []byte // the request
}

// most is the longest head of an answer that is taken.
const most = 64 << 10

func dial(ctx context.Context, addr string) (*connection, error) {
	conn, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return &connection{conn: conn, in: make([]byte, 0, 16<<10), out: make([]byte, 0, 1<<10)}, nil
}

// call sends the request in c.out and returns the answer, which is valid until
// the next call.
func (c *connection) call() (answer, error) {
	if _, err := c.conn.Write(c.out); err != nil {
		return answer{}, err
	}
	for c.in = c.in[:0]; ; {
		room := c.room()
		n, err := c.conn.Read(room)
		if err != nil {
			return answer{}, fmt.Errorf("reading an answer: %w", err)
		}
		c.in = c.in[:len(c.in)+n]
		if a, err := parseAnswer(c.in); err != nil || a.body != nil {
			return a, err
		}
	}
}

// room returns where the next part of an answer goes.
func (c *connection) room() []byte {
	if len(c.in) == cap(c.in) {
		c.in = append(c.in, 0)[:len(c.in)]
	}
	return c.in[len(c.in):cap(c.in)]
}

// parseAnswer returns the answer that in holds; its body is nil if it is not
// complete.
func parseAnswer(in []byte) (answer, error) {
	end := bytes.Index(in, []byte("\r\n\r\n"))
	if end < 0 && len(in) < most {
		return answer{}, nil
	}
	head := in[:end+4]
	length, err := bodyLength(head)
	if err != nil {
		return answer{}, err
	}
	body := in[len(head):]
	switch {
	case length < 0 && bytes.HasSuffix(body, []byte("0\r\n\r\n")):
		return answer{head, body}, nil
	case length < 0:
		return answer{}, nil
	case len(body) > length:
		return answer{}, fmt.Errorf("an answer is longer than it says: %.80q", in)
	case len(body) < length:
		return answer{}, nil
	}
	return answer{head, body}, nil
}

// An answer is a response as it came.
type answer struct{ head, body []byte }

func (a answer) status() int {
	n, err := strconv.Atoi(string(a.head[9:12]))
	if err != nil {
		return 0
	}
	return n
}

// header returns the value of a header under the very name that is sent.
func (a answer) header(name string) string {
	_, rest, _ := bytes.Cut(a.head, []byte("\r\n"+name+": "))
	value, _, _ := bytes.Cut(rest, []byte("\r\n"))
	return string(value)
}

// bodyLength returns how much follows a head, or -1 if it comes in chunks.
func bodyLength(head []byte) (int, error) {
	if len(head) < 12 || !bytes.HasPrefix(head, []byte("HTTP/1.")) {
		return 0, fmt.Errorf("an answer is not of HTTP/1: %.40q", head)
	}
	if status := string(head[9:12]); status == "304" || status == "204" {
		return 0, nil
	}
	_, rest, ok := bytes.Cut(head, []byte("\r\nContent-Length: "))
	if !ok {
		_, rest, ok = bytes.Cut(head, []byte("\r\ncontent-length: "))
	}
	if !ok {
		if bytes.Contains(head, []byte("\r\nTransfer-Encoding: chunked\r\n")) {
			return -1, nil
		}
		return 0, fmt.Errorf("an answer has no Content-Length: %.200q", head)
	}
	digits, _, _ := bytes.Cut(rest, []byte("\r\n"))
	return strconv.Atoi(string(digits))
}

// page returns the body of a page that must answer 200.
func page(ctx context.Context, addr, path string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+path, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("GET %s answered %s", path, response.Status)
	}
	return io.ReadAll(response.Body)
}

// waitFor returns when somebody listens on addr.
func waitFor(ctx context.Context, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		c, err := dial(ctx, addr)
		if err == nil {
			return c.conn.Close()
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(time.Millisecond):
		}
	}
}
