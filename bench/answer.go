package main

import (
	"bytes"
	"fmt"
	"strconv"
)

// mostHead is the longest head of an answer that is taken.
const mostHead = 64 << 10

// An answer is a response as it came.
type answer struct{ head, body []byte }

func (a answer) status() int {
	n, err := strconv.Atoi(string(a.head[9:12]))
	if err != nil {
		return 0
	}
	return n
}

// parseAnswer returns the answer that in holds; its body is nil if it is not complete. It must say its length: all
// servers that are measured do.
func parseAnswer(in []byte) (answer, error) {
	end := bytes.Index(in, []byte("\r\n\r\n"))
	if end < 0 && len(in) < mostHead {
		return answer{}, nil
	}
	head, body := in[:end+4], in[end+4:]
	if len(head) < 12 || !bytes.HasPrefix(head, []byte("HTTP/1.")) {
		return answer{}, fmt.Errorf("an answer is not of HTTP/1: %.40q", in)
	}
	_, rest, _ := bytes.Cut(head, []byte("\r\nContent-Length: "))
	digits, _, _ := bytes.Cut(rest, []byte("\r\n"))
	switch length, err := strconv.Atoi(string(digits)); {
	case err != nil:
		return answer{}, fmt.Errorf("an answer has no Content-Length: %.200q", head)
	case len(body) > length:
		return answer{}, fmt.Errorf("an answer is longer than it says: %.80q", in)
	case len(body) < length:
		return answer{}, nil
	}
	return answer{head, body}, nil
}
